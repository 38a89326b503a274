"""The few kinds of error that motionkit raises on purpose.

Each carries what a person needs to go on: what was found, what was expected, where, and what
to do. The command line prints one line ``error: …`` and one line ``help: …`` and exits with 2.
"""


class MotionkitError(Exception):
    """Something outside the code is wrong, and the message says what to do about it."""

    def __init__(self, message: str, *, where: str = "", help: str = "") -> None:
        """Keep the parts apart, so that a report can arrange them.

        Args:
            message: what was found and what was expected, one line, no full stop.
            where: the file and field, joint or frame concerned.
            help: what the user should do, an imperative without a full stop.
        """
        super().__init__(message)
        self.message = message
        self.where = where
        self.help = help

    def __str__(self) -> str:
        """One line: where it happened, then what."""
        return f"{self.where}: {self.message}" if self.where else self.message


class InputError(MotionkitError):
    """A file or an array that came from outside is wrong."""


class ConfigError(MotionkitError):
    """A setting is unknown, or its value cannot be used."""


class AssetError(MotionkitError):
    """A robot or body model is missing, or cannot be used."""


class IdentityError(MotionkitError):
    """A cache was made with other settings than those asked for."""
