"""Writing a picture so that a reader finds the old one or the new one, never a part."""

import contextlib
import importlib.util
import os
import tempfile
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from motionkit.errors import AssetError

_LIBRARIES = ("PIL", "matplotlib")


def require_libraries() -> None:
    """Pictures can be made.

    Raises:
        AssetError: what the extra ``view`` installs is missing.
    """
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise AssetError(
            f"pictures need {' and '.join(missing)}", help="pip install 'motionkit[view]'"
        )


def write_png(path: str | Path, image: UInt8[np.ndarray, "H W 3"]) -> None:
    """Write ``path`` whole, making its folder."""
    from PIL import Image

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            Image.fromarray(image).save(file, format="PNG", optimize=True)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)  # mkstemp keeps others out
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
