"""``python -m motionkit.cli``: the command line without its script."""

import sys

from motionkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
