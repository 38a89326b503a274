"""Markers as named arrays: ``markers`` (T, M, 3), ``labels`` (M,), a rate, and perhaps ``unit``."""

import numpy as np

from motionkit.clip import MarkerClip
from motionkit.formats.npz import find_rate, open_npz
from motionkit.formats.points import RawPoints, place_points
from motionkit.formats.source import ReadOptions, Source

MOST_MARKERS = 5000
"""Markers beyond which an array is taken for a mesh."""


def read(source: Source, options: ReadOptions) -> MarkerClip:
    """The markers in an ``.npz``; a marker that is NaN was not seen.

    Raises:
        InputError: an array is damaged, missing or of another shape, or the rate is unclear.
    """
    npz = open_npz(source)
    for key in ("markers", "labels"):
        if key not in npz.members:
            raise source.error(
                f"is missing (keys: {', '.join(npz.keys[:12])})",
                field=key,
                help="save places as markers (T, M, 3) and names as labels (M,)",
            )
    pos = npz.numbers("markers")
    shaped = pos.ndim == 3 and pos.shape[2] == 3 and len(pos) > 0
    if not shaped or not 0 < pos.shape[1] <= MOST_MARKERS:
        raise source.error(f"has shape {pos.shape}, expected (T, M, 3)", field="markers")
    labels = npz.array("labels")
    if labels.dtype.kind not in "SU" or labels.shape != (pos.shape[1],):
        raise source.error(f"has type {labels.dtype} and shape {labels.shape}, expected "
                           f"{pos.shape[1]} texts", field="labels")  # fmt: skip
    names = [t.decode("latin-1") if isinstance(t, bytes) else str(t) for t in labels]
    unit = npz.text("unit") if "unit" in npz.members else ""
    fps, notes = find_rate(npz, options)
    pos = np.where(np.isnan(pos).any(axis=2, keepdims=True), np.nan, pos)
    raw = RawPoints(tuple(names), pos, unit)
    return place_points(source, raw, fps, options, format="markers", notes=notes)
