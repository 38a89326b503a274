"""Robots that come with the package: one folder each, ``<name>/<name>.xml`` and ``robot.toml``."""

import difflib
from importlib import resources
from importlib.resources.abc import Traversable

from motionkit.errors import AssetError

_PROFILE = "robot.toml"


def robot_names() -> tuple[str, ...]:
    """Names of the bundled robots, sorted."""
    return tuple(
        sorted(f.name for f in _folder().iterdir() if f.is_dir() and (f / _PROFILE).is_file())
    )


def robot_files(name: str) -> tuple[str, str]:
    """The text of a bundled robot's MJCF and of its profile.

    Raises:
        AssetError: no such robot; the message lists the names and suggests the nearest.
    """
    names = robot_names()
    if name not in names:
        near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1)
        suggestion = f"did you mean {near[0]}? " if near else ""
        raise AssetError(
            f"no bundled robot named {name!r}",
            help=f"{suggestion}the bundled robots are: {', '.join(names)}; "
            "for your own, give the path of its MJCF",
        )
    folder = _folder() / name
    mjcf, profile = ((folder / file).read_text("utf-8") for file in (f"{name}.xml", _PROFILE))
    return mjcf, profile


def _folder() -> Traversable:
    return resources.files(__name__)
