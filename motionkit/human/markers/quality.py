"""How good a fit is: what is said about it, and its hips held against what else is known."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from motionkit.clip import Note, runs
from motionkit.human.markers import body, hips
from motionkit.human.markers.hips_prior import HipPrior
from motionkit.human.markers.objective import Markers, Terms
from motionkit.human.markers.result import HipCheck
from motionkit.human.markers.shape import Subject

Array = np.ndarray

POOR = 0.03
"""Mean residual of a marker from which it is named [m]."""
LOST = 0.10
"""Mean distance of a part's markers from their places from which the part is lost [m]: a fifth of a
thigh. Markers of a part that sits right keep within a few centimetres."""
APART = 0.02
"""Distance of a functional hip from the fitted one from which it is noted [m]."""


def residual_notes(labels: Sequence[str], terms: Terms) -> list[Note]:
    """Markers far from their places on average, and parts that are lost in some frames."""
    markers = terms.markers
    error = np.linalg.norm(terms.error, axis=-1)
    count = markers.seen.sum(axis=0)
    mean = np.where(markers.seen, error, 0.0).sum(axis=0) / np.maximum(count, 1)
    notes = []
    if poor := [k for k in np.argsort(-mean) if mean[k] > POOR]:
        said = ", ".join(f"{labels[k]} {1e3 * mean[k]:.0f} mm" for k in poor[:6])
        text = f"markers far from their places on average: {said}"
        notes.append(Note("MK174", text, float(mean[poor[0]]), "m"))
    said = []
    worst = 0.0
    for part in np.unique(markers.part):
        lost, distance = _lost_frames(markers, error, int(part))
        if lost.any():
            start, stop = max(runs(lost), key=lambda run: run[1] - run[0])
            said.append(f"{body.JOINTS[part]} in {lost.sum()} of {len(lost)} frames, e.g. "
                        f"[{start}, {stop})")  # fmt: skip
            worst = max(worst, float(distance[lost].max()))
    if said:
        text = f"the body does not follow its markers (up to {1e3 * worst:.0f} mm): "
        notes.append(Note("MK188", text + "; ".join(said[:5]), worst, "m"))
    return notes


def _lost_frames(
    markers: Markers, error: Float[Array, "T K"], part: int
) -> tuple[Bool[Array, "T"], Float[Array, "T"]]:
    """Frames in which most markers of a part, two at least, are far from it; and how far."""
    on = markers.part == part
    seen = markers.seen[:, on]
    distance = np.where(seen, error[:, on], np.nan)
    count = seen.sum(axis=1)
    median = np.zeros(len(seen))
    enough = count >= min(2, on.sum())
    if enough.any() and on.sum() > 0:
        median[enough] = np.nanmedian(distance[enough], axis=1)
    return median > LOST, median


def check_hips(
    terms: Terms, subject: Subject, prior: HipPrior | None
) -> tuple[tuple[HipCheck, ...], list[Note]]:
    """The fitted hips beside the regression and the spheres of the thighs' markers."""
    markers = terms.markers
    expected = None if prior is None else prior.expected(subject.place)
    checks, notes = [], []
    for index, side in enumerate(("left", "right")):
        joint = body.INDEX[f"{side}_hip"]
        thigh = np.where(markers.seen[..., None], markers.pos, np.nan)[:, markers.part == joint]
        found = None
        if thigh.shape[1]:
            found = hips.functional_hip(thigh, terms.x[:, 0], terms.R[:, 0])
        fitted = subject.offsets[joint]
        checks.append(HipCheck(
            side=side, fitted=fitted,
            regression=None if expected is None else expected[index],
            functional=None if found is None else found.centre,
            functional_sigma=None if found is None else float(found.sigma),
            is_functional_trusted=found is not None and found.is_trusted,
        ))  # fmt: skip
        if found is not None and found.is_trusted:
            apart = float(np.linalg.norm(found.centre - fitted))
            if apart > APART:
                text = (
                    f"the {side} hip lies {1e3 * apart:.0f} mm from the centre about which the "
                    f"thigh's markers turn (uncertain by {1e3 * found.sigma:.0f} mm)"
                )
                notes.append(Note("MK189", text, apart, "m"))
    return tuple(checks), notes
