"""The command line: ``motionkit VERB``. Thin: each command calls the verb of a stage."""

from motionkit.cli.console import main as main
