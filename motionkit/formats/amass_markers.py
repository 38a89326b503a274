"""The optical markers that AMASS files carry beside the body that was fitted to them.

Both are then in one world, so that a fit to the markers can be held against the body. Sources of
the keys: files of AMASS (Mahmood et al. 2019) and of MoSh++ as its releases have them.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import MarkerClip, Note, SmplClip
from motionkit.formats import amass
from motionkit.formats.npz import Npz, open_npz
from motionkit.formats.point_labels import clean_labels
from motionkit.formats.source import ReadOptions, Source, open_source
from motionkit.formats.world import PELVIS_REST

Array = np.ndarray

MARKER_KEYS = (("markers", "labels"), ("marker_data", "marker_labels"),
               ("markers_obs", "labels_obs"))  # fmt: skip
"""Names of the markers' positions [m] and of their labels, by release."""
FAR_FROM_BODY = 1.5
"""Median distance [m] of a frame's markers from the pelvis beyond which they are of another
unit, world or motion."""
MAX_MARKERS = 1024
"""Markers beyond which an array is taken for a mesh or a cloud of points."""
MAX_LABELS = 4
"""Different labels over the clip, per marker of a frame, up to which they are labels."""
LONGEST_LABEL = 200
"""Characters of a label that are kept."""
_OF_BODY = ("MK120", "MK121", "MK123", "MK124", "MK125")  # of fingers, face, shape and gender


def read_amass_markers(path: Path | str, options: ReadOptions | None = None) -> MarkerClip:
    """The markers in an AMASS file, in the world of the body that ``read_clip`` reads from it.

    Raises:
        InputError: as :func:`read_markers`, or the file cannot be read.
    """
    return read_markers(open_source(path), options or ReadOptions())


def read_markers(source: Source, options: ReadOptions) -> MarkerClip:
    """The markers in an AMASS file [m], NaN where one was not seen.

    A marker that is NaN or at 0 0 0 was not seen. Labels may be given once or by frame; one that
    repeats or is blank is numbered.

    Raises:
        InputError: the file is no AMASS motion, holds no markers, or they do not go with its body.
    """
    body = amass.read(source, options)
    npz = open_npz(source)
    found = [keys for keys in MARKER_KEYS if keys[0] in npz.members]
    if not found:
        raise source.error(
            f"holds no markers (keys: {', '.join(npz.keys[:12])})",
            field=MARKER_KEYS[0][0],
            help=f"known keys: {', '.join(keys[0] for keys in MARKER_KEYS)}",
        )
    key, label_key = found[0]
    if label_key not in npz.members:
        raise source.error(f"is missing beside {key}", field=label_key)
    pos = _positions(npz, key, body.num_frames)
    labels, subject, pos, notes = _label(npz, label_key, pos)
    scale = body.provenance.unit_scale
    pos_w = rotation.rotate(np.array(body.provenance.world_quat), pos) * scale
    _require_near_body(source, key, pos_w, body)
    missing = int(np.isnan(pos_w[..., 0]).sum())
    if missing:
        share = 100.0 * missing / pos_w[..., 0].size
        text = (f"{missing} of {pos_w[..., 0].size} positions were not seen (NaN, or 0 0 0): "
                f"{share:.2g} %")  # fmt: skip
        notes.append(Note("MK129", text, share, "%"))
    kept = tuple(note for note in body.provenance.notes if note.code not in _OF_BODY)
    return MarkerClip(
        name=body.name,
        fps=body.fps,
        labels=labels,
        pos_w=pos_w,
        subject=subject,
        provenance=replace(body.provenance, notes=(*kept, *notes)),
    )


def _positions(npz: Npz, key: str, frames: int) -> Float[Array, "T M 3"]:
    pos = npz.numbers(key)
    if pos.ndim != 3 or pos.shape[0] != frames or pos.shape[1] == 0 or pos.shape[2] != 3:
        raise npz.source.error(
            f"has shape {pos.shape}, expected ({frames}, markers, 3) to go with poses", field=key
        )
    if pos.shape[1] > MAX_MARKERS:
        raise npz.source.error(f"has {pos.shape[1]} markers, expected at most {MAX_MARKERS}",
                               field=key)  # fmt: skip
    bad = np.abs(pos) > amass.MAX_TRANS
    if bad.any():
        frame, marker, axis = (int(i) for i in np.argwhere(bad)[0])
        raise npz.source.error(f"{pos[frame, marker, axis]:g} at frame {frame}, marker {marker}, "
                               f"{'xyz'[axis]}, expected metres", field=key)  # fmt: skip
    unseen = np.isnan(pos).any(axis=2) | np.all(pos == 0.0, axis=2)
    return np.where(unseen[..., None], np.nan, pos)


def _label(
    npz: Npz, key: str, pos: Float[Array, "T M 3"]
) -> tuple[tuple[str, ...], str, Float[Array, "T N 3"], list[Note]]:
    """Unique labels, the subject's prefix, and the positions by label."""
    array = npz.array(key)
    frames, markers, _ = pos.shape
    if array.dtype.kind not in "SU":
        raise npz.source.error(f"has type {array.dtype}, expected text", field=key)
    if array.shape == (frames, markers) and frames > 1:
        rows, which = np.unique(array, axis=0, return_inverse=True)
        which = which.reshape(-1)
    elif array.size == markers:
        rows, which = array.reshape(1, -1), np.zeros(frames, dtype=np.int64)
    else:
        raise npz.source.error(f"has shape {array.shape} for {markers} markers in {frames} frames",
                               field=key)  # fmt: skip
    place: dict[str, int] = {}
    columns = []
    subject, notes = "", []
    for number, row in enumerate(rows):
        labels, prefix, more = clean_labels(tuple(_text(label) for label in row))
        subject, notes = (prefix, more) if number == 0 else (subject, notes)
        columns.append([place.setdefault(label, len(place)) for label in labels])
        if len(place) > MAX_LABELS * markers:
            raise npz.source.error(f"has {len(place)} different labels or more for {markers} "
                                   "markers a frame", field=key)  # fmt: skip
    out = np.full((frames, len(place), 3), np.nan)
    for number, column in enumerate(columns):
        at = np.flatnonzero(which == number)
        out[np.ix_(at, column)] = pos[at]
    return tuple(place), subject, out, notes


def _text(label: object) -> str:
    text = label.decode("latin-1") if isinstance(label, bytes) else str(label)
    return text[:LONGEST_LABEL]


def _require_near_body(
    source: Source, key: str, pos_w: Float[Array, "T M 3"], body: SmplClip
) -> None:
    """Refuse markers that are not where the body is: of another unit, world or motion."""
    pelvis = body.trans_w + np.array(PELVIS_REST[body.model])
    gap = np.linalg.norm(pos_w - pelvis[:, None], axis=-1)
    if not np.isfinite(gap).any():
        raise source.error("no marker was seen in any frame", field=key)
    median = float(np.nanmedian(gap))
    if median > FAR_FROM_BODY:
        raise source.error(
            f"are {median:.3g} m from the pelvis (median), a body reaches {FAR_FROM_BODY:g} m",
            field=key,
            help="markers and body must be in one unit and world",
        )
