"""How each joint of a source stands to the T-pose.

A source's joint ``i`` turns by ``Q_i(t)``, joint frame to world. Its frames may point anywhere:
files differ in rest pose, and some have none. What is wanted is ``R_i(t)``, the identity in the
T-pose facing +X. The two differ by one constant a joint, the orientation ``A_i`` of the joint's
frame in the T-pose::

    R_i(t) = Q_i(t) A_i*

**By rest pose**, when the source's zero pose is a standing figure: trunk and feet are taken as
they stand, and each limb is swung by the shortest rotation from its rest direction to the T-pose's
(an A-pose or hanging arms become a T-pose).

**By motion**, when it is not: each joint's frame is fixed by two directions that the motion shows
in it, a bone and an axis. Knees and elbows show their hinge axis, the mean of
``bone above × bone below``, weighted by the bend; the pelvis shows its hips. The remaining parts
(spine, neck, head, collars, hands) are assumed to stand straight on the part below on average,
over the most upright frames.

Either way directions of the limbs agree with the source exactly where its bones are rigid.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, SkeletonClip

Array = np.ndarray

X, Y, Z = np.eye(3)

_UPRIGHT_TOLERANCE = np.radians(30)  # of a standing rest pose's trunk from its up axis
_LEG_TOLERANCE = np.radians(35)  # of its legs from straight down
_ARM_TOLERANCE = np.radians(30)  # of its arms from the frontal plane
_BEND_TOLERANCE = np.radians(25)  # of its knees and elbows
_FOOT_FORWARD = 0.3  # least share of a foot that points forward in it
_UPRIGHT_SHARE = 0.3  # of the frames, the most upright, over which a neutral stance is averaged
_ENOUGH_BEND = np.radians(8)  # mean bend of a knee or elbow that shows its hinge axis
_LOW_SHARE = 0.2  # of the frames, those with the lowest toes, in which a foot may be flat
_FLATTEST_SHARE = 0.5  # of those, the ones with the lowest ankles
_SHORT = 1e-4  # [m], below which two joints are one point

_LIMBS = {
    f"{side}_{near}": (f"{side}_{far}", direction * sign if direction is Y else direction)
    for side, sign in (("left", 1.0), ("right", -1.0))
    for near, far, direction in (
        ("hip", "knee", -Z), ("knee", "ankle", -Z), ("shoulder", "elbow", Y),
        ("elbow", "wrist", Y),
    )
}  # fmt: skip
"""Role: (role at its far end, direction in the T-pose)."""


@dataclass(frozen=True, slots=True)
class Source:
    """World poses of the roles of a source."""

    pos: Float[Array, "T 52 3"]
    """Positions [m]; NaN where the role is missing."""
    quat: Float[Array, "T 52 4"]
    """Orientations of the source's joint frames; NaN where the role is missing."""
    present: Bool[Array, "52"]
    """Whether the source has the role."""
    toe_tip: dict[str, Float[Array, "3"]]
    """Ankle role without a toe base: end site of its joint in the joint's frame [m]."""


def index(role: str) -> int:
    """Index of a role in :data:`motionkit.clip.SMPLH_JOINTS`."""
    return SMPLH_JOINTS.index(role)


def read_source(clip: SkeletonClip) -> Source:
    """World poses by role."""
    pos, quat = clip.global_pose()
    frames = clip.num_frames
    out = Source(
        np.full((frames, 52, 3), np.nan),
        np.full((frames, 52, 4), np.nan),
        np.zeros(52, dtype=bool),
        {},
    )
    for role, name in clip.roles.items():
        i, j = index(role), clip.joint_names.index(name)
        out.pos[:, i], out.quat[:, i], out.present[i] = pos[:, j], quat[:, j], True
    for side in ("left", "right"):
        if not out.present[index(f"{side}_foot")]:
            joint = clip.joint_names.index(clip.roles[f"{side}_ankle"])
            ends = clip.end_offsets[clip.end_parents == joint]
            if len(ends) == 1 and np.linalg.norm(ends[0]) > _SHORT:
                out.toe_tip[f"{side}_ankle"] = ends[0]
    return out


def rest_source(clip: SkeletonClip) -> Source:
    """The zero pose of the source, in the axes of its file, as a clip of one frame."""
    joints = len(clip.joint_names)
    local = clip.offsets if clip.local_pos is None else np.median(clip.local_pos, axis=0)
    rest = SkeletonClip(
        name=clip.name, fps=clip.fps, joint_names=clip.joint_names, parents=clip.parents,
        offsets=local, root_pos_w=np.zeros((1, 3)),
        joint_quat=np.tile(rotation.IDENTITY, (1, joints, 1)), roles=clip.roles,
        provenance=clip.provenance, end_parents=clip.end_parents, end_offsets=clip.end_offsets,
    )  # fmt: skip
    return read_source(rest)


def standing_axes(rest: Source) -> Float[Array, "4"] | None:
    """Rotation from the file's axes to the T-pose's, if the zero pose is a standing figure."""
    pos = rest.pos[0]
    left = _unit(pos[index("left_hip")] - pos[index("right_hip")])
    trunk = _unit(pos[index("head")] - 0.5 * (pos[index("left_hip")] + pos[index("right_hip")]))
    if left is None or trunk is None:
        return None
    up = np.sign(trunk[np.abs(trunk).argmax()]) * np.eye(3)[np.abs(trunk).argmax()]
    left = _unit(left - up * (left @ up))
    if left is None or trunk @ up < np.cos(_UPRIGHT_TOLERANCE):
        return None
    forward = np.cross(left, up)
    for side, outwards in (("left", left), ("right", -left)):
        hip, knee, ankle, shoulder, elbow, wrist = (
            pos[index(f"{side}_{part}")]
            for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
        )
        thigh, shank = _unit(knee - hip), _unit(ankle - knee)
        upper, fore = _unit(elbow - shoulder), _unit(wrist - elbow)
        if thigh is None or shank is None or upper is None or fore is None:
            return None
        if min(thigh @ -up, shank @ -up) < np.cos(_LEG_TOLERANCE):
            return None
        if min(thigh @ shank, upper @ fore) < np.cos(_BEND_TOLERANCE):
            return None
        if abs(upper @ forward) > np.sin(_ARM_TOLERANCE) or upper @ up > np.sin(_ARM_TOLERANCE):
            return None
        if upper @ outwards < -np.sin(_ARM_TOLERANCE):
            return None
        toe = pos[index(f"{side}_foot")] - ankle
        if rest.present[index(f"{side}_foot")] and (
            np.linalg.norm(toe) < _SHORT or toe @ forward < _FOOT_FORWARD * np.linalg.norm(toe)
        ):
            return None
    return rotation.from_matrix(np.stack([forward, left, up]))


def by_rest_pose(rest: Source, axes: Float[Array, "4"]) -> Float[Array, "52 4"]:
    """Orientation of each joint's frame in the T-pose, from a standing zero pose."""
    frames = np.tile(axes, (52, 1))
    for role, (far, wanted) in _LIMBS.items():
        bone = rotation.rotate(axes, rest.pos[0, index(far)] - rest.pos[0, index(role)])
        frames[index(role)] = rotation.multiply(rotation.between(bone, wanted), axes)
    # A hand follows its forearm.
    for i, parent in enumerate(SMPLH_PARENTS):
        if i in (index("left_wrist"), index("right_wrist")) or i > index("right_wrist"):
            frames[i] = frames[parent]
    return frames


def set_feet_by_stance(source: Source, frames: Float[Array, "52 4"]) -> None:
    """Decide whether the feet of a rest pose with legs apart are flat, or turned with the legs.

    Both occur; the one is taken whose soles are more nearly level when the feet stand.
    """
    for side in ("left", "right"):
        ankle, toe = index(f"{side}_ankle"), index(f"{side}_foot")
        if not source.present[toe]:
            continue
        axes = frames[ankle]
        swing = rotation.multiply(frames[index(f"{side}_knee")], rotation.conjugate(frames[0]))
        options = (axes, rotation.multiply(swing, axes))
        stance = source.quat[flat_frames(source, side), ankle]
        turns = [rotation.multiply(stance, rotation.conjugate(option)) for option in options]
        tilts = [np.median(np.abs(rotation.rotate(turn, Y)[:, 2])) for turn in turns]
        best = options[int(np.argmin(tilts))]
        frames[ankle], frames[toe] = best, best


def flat_frames(source: Source, side: str) -> Bool[Array, "T"]:
    """Frames in which a foot is most likely flat: low toes and, among those, low ankles."""
    ankle, toe = (source.pos[:, index(f"{side}_{part}"), 2] for part in ("ankle", "foot"))
    low = toe <= np.quantile(toe, _LOW_SHARE)
    return low & (ankle <= np.quantile(ankle[low], _FLATTEST_SHARE))


def by_motion(
    source: Source, foot_pitch: dict[str, float]
) -> tuple[Float[Array, "52 4"], tuple[str, ...]]:
    """Orientation of each joint's frame in the T-pose, from what the motion shows.

    Args:
        source: the motion.
        foot_pitch: by side, how far the line from ankle to toe falls below the sole's plane when
            the foot is flat [rad].

    Returns:
        The orientations, and the hinges (roles) too straight all along to show their axis, which
        were taken from the part above.
    """
    frames = np.tile(rotation.IDENTITY, (52, 1))
    upright = _most_upright(source)
    unseen: list[str] = []
    _calibrate_pelvis(source, upright, frames)
    for role in ("spine1", "spine2", "spine3", "neck", "head", "left_collar", "right_collar"):
        _stand_on_parent(source, upright, frames, role)
    everything = np.ones(len(source.pos), dtype=bool)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for near, far, end, axis in (
            ("hip", "knee", "ankle", Y), ("shoulder", "elbow", "wrist", -sign * Z),
        ):  # fmt: skip
            near, far, end = f"{side}_{near}", f"{side}_{far}", f"{side}_{end}"
            if not _calibrate_hinge(source, frames, near, far, end, axis):
                unseen.append(far)
        ankle, foot = f"{side}_ankle", f"{side}_foot"
        bone = _bone(source, ankle, foot)
        if bone is None:
            bone = source.toe_tip.get(ankle)
        pitch = foot_pitch[side]
        flat = np.array([np.cos(pitch), 0.0, -np.sin(pitch)])
        lateral = _axis_of_above(source, frames, f"{side}_knee", ankle, Y)
        if bone is not None and _fix(frames, ankle, bone, flat, lateral, Y):
            pass
        else:
            _stand_on_parent(source, everything, frames, ankle)
        for role in (foot, f"{side}_wrist", *(j for j in SMPLH_JOINTS[22:] if j.startswith(side))):
            _stand_on_parent(source, everything, frames, role)
    return frames, tuple(unseen)


def _most_upright(source: Source) -> Bool[Array, "T"]:
    hips = 0.5 * (source.pos[:, index("left_hip")] + source.pos[:, index("right_hip")])
    shoulders = 0.5 * (
        source.pos[:, index("left_shoulder")] + source.pos[:, index("right_shoulder")]
    )
    trunk = shoulders - hips
    height = trunk[:, 2] / np.maximum(np.linalg.norm(trunk, axis=1), _SHORT)
    return height >= np.quantile(height, 1.0 - _UPRIGHT_SHARE)


def _calibrate_pelvis(
    source: Source, upright: Bool[Array, "T"], frames: Float[Array, "52 4"]
) -> None:
    """Left from the hips; up from standing upright on average."""
    pelvis = source.quat[:, index("pelvis")]
    across = source.pos[:, index("left_hip")] - source.pos[:, index("right_hip")]
    left = np.mean(rotation.rotate(rotation.conjugate(pelvis), across), axis=0)
    up = np.mean(rotation.rotate(rotation.conjugate(pelvis[upright]), Z), axis=0)
    _fix(frames, "pelvis", left, Y, up, Z)


def _calibrate_hinge(
    source: Source, frames: Float[Array, "52 4"], near: str, far: str, end: str,
    axis: Float[Array, "3"],
) -> bool:  # fmt: skip
    """Both bones of a hinge from their directions and the hinge axis; whether the axis showed."""
    upper = source.pos[:, index(far)] - source.pos[:, index(near)]
    lower = source.pos[:, index(end)] - source.pos[:, index(far)]
    cross = np.cross(upper, lower)
    scale = np.linalg.norm(upper, axis=1) * np.linalg.norm(lower, axis=1)
    cross = cross / np.maximum(scale, _SHORT**2)[:, None]
    shows = True
    for role, other in ((near, far), (far, end)):
        local = rotation.rotate(rotation.conjugate(source.quat[:, index(role)]), cross)
        seen = np.mean(local, axis=0)
        if np.linalg.norm(seen) < np.sin(_ENOUGH_BEND):
            shows = False
            above = "pelvis" if "hip" in near else SMPLH_JOINTS[_present_parent(source, near)]
            seen = _axis_of_above(source, frames, above if role == near else near, role, axis)
        bone = _bone(source, role, other)
        wanted = _LIMBS[role][1]
        if bone is None or not _fix(frames, role, bone, wanted, seen, axis):
            _stand_on_parent(source, np.ones(len(source.pos), dtype=bool), frames, role)
    return shows


def _axis_of_above(
    source: Source, frames: Float[Array, "52 4"], above: str, role: str, axis: Float[Array, "3"]
) -> Float[Array, "3"]:
    """Mean direction, in a joint's frame, of an axis of the part above it."""
    turn = rotation.multiply(source.quat[:, index(above)], rotation.conjugate(frames[index(above)]))
    world = rotation.rotate(turn, axis)
    return np.mean(rotation.rotate(rotation.conjugate(source.quat[:, index(role)]), world), axis=0)


def _present_parent(source: Source, role: str) -> int:
    parent = SMPLH_PARENTS[index(role)]
    while not source.present[parent]:
        parent = SMPLH_PARENTS[parent]
    return parent


def _stand_on_parent(
    source: Source, when: Bool[Array, "T"], frames: Float[Array, "52 4"], role: str
) -> None:
    """Let a part be aligned with the nearest part above it, on average over some frames."""
    i = index(role)
    if not source.present[i]:
        return
    parent = _present_parent(source, role)
    above = rotation.multiply(source.quat[when, parent], rotation.conjugate(frames[parent]))
    relative = rotation.multiply(rotation.conjugate(above), source.quat[when, i])
    frames[i] = mean_rotation(relative)


def mean_rotation(quat: Float[Array, "T 4"]) -> Float[Array, "4"]:
    """The rotation nearest to all (Markley et al., "Averaging Quaternions", 2007)."""
    _, vectors = np.linalg.eigh(quat.T @ quat)
    return vectors[:, -1]


def _bone(source: Source, near: str, far: str) -> Float[Array, "3"] | None:
    """Mean of the vector from one role to another in the frame of the first [m]."""
    if not (source.present[index(near)] and source.present[index(far)]):
        return None
    across = source.pos[:, index(far)] - source.pos[:, index(near)]
    mean = np.mean(rotation.rotate(rotation.conjugate(source.quat[:, index(near)]), across), axis=0)
    return None if np.linalg.norm(mean) < _SHORT else mean


def _fix(
    frames: Float[Array, "52 4"], role: str,
    first: Float[Array, "3"], first_wanted: Float[Array, "3"],
    second: Float[Array, "3"], second_wanted: Float[Array, "3"],
) -> bool:  # fmt: skip
    """Set a frame by two directions in it; the first exactly, the second as nearly as it goes."""
    local, wanted = _triad(first, second), _triad(first_wanted, second_wanted)
    if local is None or wanted is None:
        return False
    frames[index(role)] = rotation.from_matrix(wanted.T @ local)
    return True


def _triad(first: Float[Array, "3"], second: Float[Array, "3"]) -> Float[Array, "3 3"] | None:
    a = _unit(first)
    normal = None if a is None else _unit(np.cross(a, second))
    if a is None or normal is None:
        return None
    return np.stack([a, np.cross(normal, a), normal])


def _unit(vector: Float[Array, "3"]) -> Float[Array, "3"] | None:
    norm = np.linalg.norm(vector)
    return None if not norm > _SHORT else vector / norm
