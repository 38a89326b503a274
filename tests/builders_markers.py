"""People with markers on them, made from motions whose truth is known."""

import numpy as np

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, HumanClip, MarkerClip, Provenance
from motionkit.human.markers import MarkerFit
from motionkit.synth import SynthConfig, synthesize

NAMES = {
    "head": ("LFHD", "RFHD", "LBHD", "RBHD"), "spine3": ("C7", "T10", "CLAV", "STRN"),
    "pelvis": ("LASI", "RASI", "LPSI", "RPSI"),
    "left_shoulder": ("LSHO", "LUPA"), "right_shoulder": ("RSHO", "RUPA"),
    "left_elbow": ("LELB", "LFRM"), "right_elbow": ("RELB", "RFRM"),
    "left_wrist": ("LWRA", "LWRB", "LFIN"), "right_wrist": ("RWRA", "RWRB", "RFIN"),
    "left_hip": ("LTHI",), "right_hip": ("RTHI",), "left_knee": ("LKNE", "LTIB"),
    "right_knee": ("RKNE", "RTIB"), "left_ankle": ("LANK", "LHEE"),
    "right_ankle": ("RANK", "RHEE"), "left_foot": ("LTOE",), "right_foot": ("RTOE",),
}  # fmt: skip
"""Joint to labels that sit on its part."""

SPREAD = 0.08  # [m], of the offsets


def walker(seconds: float = 1.0, fps: float = 60.0, kind: str = "walk") -> HumanClip:
    """A person whose truth is known."""
    return synthesize(SynthConfig(kind=kind, seconds=seconds, fps=fps)).clip  # type: ignore[arg-type]


def marked(
    human: HumanClip, *, noise: float = 0.0, hidden: float = 0.0, seed: int = 0
) -> MarkerFit:
    """A fit that is the truth, of markers seen with noise and gaps.

    Args:
        human: who moves.
        noise: standard deviation of a coordinate [m].
        hidden: share of each marker's frames in which it is not seen, in one run.
        seed: of offsets, noise and gaps.
    """
    rng = np.random.default_rng(seed)
    labels = tuple(label for group in NAMES.values() for label in group)
    segments = tuple(joint for joint, group in NAMES.items() for _ in group)
    index = [SMPLH_JOINTS.index(joint) for joint in segments]
    offset = rng.uniform(-SPREAD, SPREAD, (len(labels), 3))
    quat = human.landmark_quat_w[:, index]
    place = human.landmark_pos_w[:, index] + rotation.rotate(quat, offset)
    seen = place + rng.normal(0.0, noise, place.shape) if noise else place.copy()
    length = round(hidden * human.num_frames)
    for k in range(len(labels)) if length else ():
        start = int(rng.integers(0, human.num_frames - length + 1))
        seen[start : start + length, k] = np.nan
    return MarkerFit(
        human=human,
        marker_set="Plug-in Gait",
        labels=labels,
        unmapped=("EXTRA",),
        segments=segments,
        offset=offset,
        pos_w=seen,
        model_pos_w=place,
        weight=np.isfinite(seen[..., 0]).astype(float),
        joint_sigma=np.linspace(0.001, 0.008, 22),
        first_frame=0,
        filled=np.zeros(22),
        hips=(),
    )


def markers_of(fit: MarkerFit) -> MarkerClip:
    """The markers alone, as a file would hold them."""
    return MarkerClip(
        name=fit.human.name,
        fps=fit.human.fps,
        labels=fit.labels,
        pos_w=fit.pos_w,
        provenance=Provenance(path="made.c3d", sha256="0" * 64, format="c3d", writer="unknown"),
    )


def set_on_person(human: HumanClip, name: str) -> MarkerClip:
    """The markers of a known set at their nominal places on a person."""
    from motionkit.human.markers.sets import marker_set

    pos, quat = human.landmark_pos_w, human.landmark_quat_w
    labels, places = [], []
    for marker in marker_set(name).markers:
        joint = SMPLH_JOINTS.index(marker.segment)
        place = human.stature * np.array(marker.place)
        labels.append(marker.label)
        places.append(pos[:, joint] + rotation.rotate(quat[:, joint], place))
    provenance = Provenance("made", "0" * 64, "c3d", "unknown")
    return MarkerClip("made", human.fps, tuple(labels), np.stack(places, axis=1), provenance)
