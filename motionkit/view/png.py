"""Writing a picture whole, and saying what is missing when there can be none."""

import importlib.util
import io
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from motionkit.cache.container import replace_file
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
    """Write ``path``, making its folder; a reader sees the old picture or the new one.

    Raises:
        InputError: the folder cannot be written to.
    """
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format="PNG", optimize=True)
    replace_file(Path(path), [buffer.getvalue()])
