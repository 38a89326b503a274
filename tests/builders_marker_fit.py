"""Subjects of other proportions with the markers of a known set, occluded, noisy and exchanged."""

from dataclasses import dataclass, replace

import numpy as np

from motionkit import rotation
from motionkit.clip import MarkerClip, Provenance
from motionkit.human.markers import body
from motionkit.human.markers.catalogue import SetMarker
from motionkit.human.markers.sets import marker_set
from motionkit.synth import SynthConfig, synthesize

MADE = Provenance("made", "0" * 64, "c3d", "unknown")


@dataclass(frozen=True)
class Truth:
    """Markers of a subject, and where the joints are."""

    clip: MarkerClip
    joints: np.ndarray  # (T, 22, 3) [m]
    place: np.ndarray  # (M, 3) [m]
    exchanged: tuple[frozenset[str], ...] = ()


def subject(
    name: str = "plug_in_gait", kind: str = "walk", *, seed: int = 0, fps: float = 100.0,
    seconds: float = 4.0, stature: float = 1.7, proportions: float = 0.05, places: float = 0.005,
    noise: float = 0.001, hidden: float = 0.0, swaps: int = 0, labels: tuple[str, ...] = (),
) -> Truth:  # fmt: skip
    """A synthetic motion on a subject who differs from the embedded body.

    Args:
        name: marker set.
        kind: motion of :mod:`motionkit.synth`.
        seed: of everything.
        fps: frames per second.
        seconds: length.
        stature: of the embedded body that the subject is made from [m].
        proportions: standard deviation of bone lengths, relative, left and right the same.
        places: standard deviation of markers from their nominal places [m].
        noise: standard deviation of each coordinate in each frame [m].
        hidden: share of samples that are not seen, in bursts of up to a quarter of a second.
        swaps: pairs that change places for a quarter of the clip.
        labels: only these, if any.
    """
    rng = np.random.default_rng(seed)
    config = SynthConfig(kind=kind, fps=fps, seconds=seconds, stature=stature, seed=seed)
    human = synthesize(config).clip
    offsets = np.zeros((22, 3))
    for i in range(1, 22):
        j = body.MIRROR[i]
        offsets[i] = human.rest_pos[i] - human.rest_pos[body.PARENTS[i]]
        grown = offsets[i] * (1.0 + proportions * rng.normal())
        offsets[i] = offsets[j] * np.array([1.0, -1.0, 1.0]) if j < i else grown
    world = rotation.to_matrix(human.landmark_quat_w[:, :22])
    local = world.copy()
    for i in range(1, 22):
        local[:, i] = np.swapaxes(world[:, body.PARENTS[i]], -1, -2) @ world[:, i]
    joints, turn = body.forward(offsets, human.landmark_pos_w[:, 0], local)
    known = [m for m in marker_set(name).markers if not labels or m.label in labels]
    part = np.array([body.INDEX[marker.segment] for marker in known])
    place = np.array([_place(marker, human.rest_pos, offsets, stature) for marker in known])
    place = place + places * rng.normal(size=place.shape)
    pos = joints[:, part] + (turn[:, part] @ place[..., None])[..., 0]
    pos = pos + noise * rng.normal(size=pos.shape)
    while np.isnan(pos[..., 0]).mean() < hidden:
        marker, start = rng.integers(len(known)), rng.integers(len(pos))
        pos[start : start + rng.integers(1, max(2, int(fps / 4))), marker] = np.nan
    names = tuple(marker.label for marker in known)
    exchanged = []
    for _ in range(swaps):
        a, b = _far_pair(rng, pos, exchanged, names)
        start = rng.integers(len(pos) // 2)
        stop = start + len(pos) // 4
        pos[start:stop, [a, b]] = pos[start:stop, [b, a]]
        exchanged.append(frozenset({names[a], names[b]}))
    clip = MarkerClip("made", fps, names, pos, MADE)
    return Truth(clip, joints, place, tuple(exchanged))


def _place(marker: SetMarker, rest: np.ndarray, offsets: np.ndarray, stature: float) -> np.ndarray:
    """Nominal, kept at its distance from the joint at the far end of a bone that is longer."""
    place = stature * np.array(marker.place)
    if marker.near and marker.near != marker.segment:
        near, part = body.INDEX[marker.near], body.INDEX[marker.segment]
        place = place + offsets[near] - (rest[near] - rest[part])
    return place


def _far_pair(
    rng: np.random.Generator, pos: np.ndarray, taken: list[frozenset[str]], names: tuple[str, ...]
) -> tuple[int, int]:
    """Two markers that nobody would mistake for one another, none of them taken."""
    used = {name for pair in taken for name in pair}
    free = [k for k, name in enumerate(names) if name not in used]
    while True:
        a, b = (int(k) for k in rng.choice(free, 2, replace=False))
        if np.nanmedian(np.linalg.norm(pos[:, a] - pos[:, b], axis=-1)) > 0.25:
            return a, b


def without(clip: MarkerClip, labels: set[str], start: int, stop: int) -> MarkerClip:
    """The clip with some markers unseen over an interval."""
    pos = clip.pos_w.copy()
    pos[start:stop, [k for k, label in enumerate(clip.labels) if label in labels]] = np.nan
    return replace(clip, pos_w=pos)
