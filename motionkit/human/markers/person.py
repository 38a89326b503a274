"""From a fitted body to a person on the 52 joints of SMPL-H."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from motionkit import rotation
from motionkit.clip import SMPLH_PARENTS, HumanClip, MarkerClip, Note
from motionkit.human import skeleton
from motionkit.human.body import ankle_drop, ankle_height, bounded_body
from motionkit.human.markers import body
from motionkit.human.markers.objective import Pose
from motionkit.human.markers.shape import Subject

Array = np.ndarray


def as_human(
    clip: MarkerClip, subject: Subject, pose: Pose, shown: Bool[Array, "22"], notes: Sequence[Note]
) -> HumanClip:
    """The person; fingers at rest, parts that no marker shows as in the mean pose.

    Args:
        clip: the frames of the source that were fitted.
        subject: shape.
        pose: of all frames.
        shown: parts that markers follow.
        notes: to add to the clip's.
    """
    stature = body.stature_of(subject.offsets)
    spare = bounded_body(stature)
    rest = np.zeros((52, 3))
    for i in range(1, 22):
        rest[i] = rest[body.PARENTS[i]] + subject.offsets[i]
    for i in range(22, 52):
        parent = SMPLH_PARENTS[i]
        rest[i] = rest[parent] + spare.rest_pos[i] - spare.rest_pos[parent]
    _, world = body.forward(subject.offsets, pose.root, pose.local)
    quat = np.empty((len(pose.root), 52, 4))
    quat[:, :22] = rotation.from_matrix(world)
    for i in range(22, 52):
        quat[:, i] = quat[:, SMPLH_PARENTS[i]]
    observed = np.zeros(52, dtype=bool)
    observed[:22] = shown
    ankles = ankle_height(rest, spare)
    if ankles is None:
        ankles = spare.ankle_height
        text = (
            f"ankles stand {1e3 * ankle_drop(rest):.0f} mm over the toes; height of the ankles "
            "taken from the embedded body"
        )
        notes = [*notes, Note("MK145", text, ankles, "m")]
    quat = rotation.unroll(rotation.normalize(quat))
    return HumanClip(
        name=clip.name,
        fps=clip.fps,
        landmark_pos_w=skeleton.forward(rest, pose.root, quat),
        landmark_quat_w=quat,
        rest_pos=rest,
        ankle_height=ankles,
        toe_height=spare.toe_height,
        stature=stature,
        observed=observed,
        body=f"embedded proportions fitted to markers, stature {stature:.2f} m",
        provenance=replace(clip.provenance, notes=(*clip.provenance.notes, *notes)),
    )
