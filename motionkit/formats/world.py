"""Which way is up and how long a unit is, from how the body moves.

**Up.** For each of the six axes ``a``, with ``c(t)`` the cosine between ``a`` and the direction
from ankles to head, and ``s`` the spread (10th to 90th percentile over frames) of the lowest
point along ``a`` in statures::

    score(a) = mean c + prior(a) - FLOOR_WEIGHT · min(s, FLOOR_SPREAD)

People are mostly upright, and whatever they do they stay on one floor; so a person who lies for
part of a clip does not turn it. The rest pose plays no part.

**Unit.** The stature follows from the lengths of legs and arms, which no pose and no cut of the
clip changes: thigh + shank = 0.491 and upper arm + forearm = 0.332 statures (Drillis & Contini
1966, in Winter, "Biomechanics and Motor Control of Human Movement", fig. 4.1). The unit is that
which makes it most plausible, ``log prior(unit) - ½ ((stature - 1.70 m) / 0.15 m)²``.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from motionkit.clip import STATURE_RANGE, Note, SkeletonClip
from motionkit.clip.rest import PELVIS_REST as PELVIS_REST
from motionkit.formats.roles import SIDES
from motionkit.formats.source import UpAxis

Array = np.ndarray

LEG_SHARE = 0.491
"""Thigh and shank, in statures (Winter, after Drillis & Contini)."""
ARM_SHARE = 0.332
"""Upper arm and forearm, in statures (the same)."""
MEAN_STATURE = 1.70
"""Of adults [m]."""
STATURE_SPREAD = 0.15
"""Standard deviation [m] that the choice of unit assumes: of adults, and of skeletons' limbs."""
FLOOR_WEIGHT = 2.0
"""Cost of a floor that moves by one stature, in cosines."""
FLOOR_SPREAD = 0.3
"""Movement of the floor [statures] beyond which more does not count: stairs, jumps."""
UPRIGHT = 0.5
"""Mean cosine below which the person is not taken for upright, and the user is told."""
TILT = np.cos(np.radians(20.0))
"""Mean direction further from the axis than 20° hints at a tilted world, e.g. a camera's."""
AXIS_PRIOR = {"y": 0.1, "z": 0.08, "x": 0.0, "-y": -0.2, "-z": -0.2, "-x": -0.2}
"""In cosines: most writers have Y up, some Z."""
BELOW_FLOOR = 0.25
"""Depth of the lowest point [statures] from which root positions may be relative to OFFSET."""
ON_FLOOR = 0.1
"""Distance of the lowest point from zero [statures] that counts as standing on the floor."""
LYING_HEIGHT = 0.45
"""Largest height [statures] of a lying body's joints above each other."""
FLOOR_PERCENTILE = 2.0
"""Of the lowest points over frames: where the floor is taken to be."""
BACKWARDS = -0.3
"""Cosine between facing and toes below which left and right are taken for swapped."""
SAMPLE_FRAMES = 400
"""Frames, evenly spread, from which a clip is judged."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A length that writers use as theirs."""

    name: str
    """For people."""
    metres: float
    """Its length [m]."""
    prior: float
    """How often, relative to metres."""


UNITS = (
    Unit("m", 1.0, 1.0),
    Unit("cm", 0.01, 1.0),
    Unit("mm", 0.001, 0.5),
    Unit("dm", 0.1, 0.5),
    Unit("inch", 0.0254, 0.3),
    Unit("CMU unit (0.0564 m)", 0.0254 / 0.45, 0.3),
    Unit("2 cm", 0.02, 0.05),
)
"""CMU's files are in inches divided by 0.45 (mocap.cs.cmu.edu)."""


_S = float(np.sqrt(0.5))
WORLD_QUAT: dict[str, tuple[float, float, float, float]] = {
    "z": (1.0, 0.0, 0.0, 0.0),
    "y": (_S, _S, 0.0, 0.0),
    "x": (_S, 0.0, -_S, 0.0),
    "-z": (0.0, 1.0, 0.0, 0.0),
    "-y": (_S, -_S, 0.0, 0.0),
    "-x": (_S, 0.0, _S, 0.0),
}
"""For each up axis of a file, the one rotation (wxyz) that takes its world to Z up."""


def axis_vector(axis: str) -> Float[Array, "3"]:
    """The unit vector along ``x`` … ``-z``."""
    vector = np.zeros(3)
    vector["xyz".index(axis[-1])] = -1.0 if axis.startswith("-") else 1.0
    return vector


def stature_from_limbs(pos: Float[Array, "S J 3"], roles: dict[str, int]) -> float:
    """Standing height in the unit of ``pos``, from the median lengths of arms and legs.

    Exact for a body of the proportions named above, whatever its pose. Zero when all joints
    coincide.
    """

    def length(a: str, b: str) -> float:
        return float(np.median(np.linalg.norm(pos[:, roles[a]] - pos[:, roles[b]], axis=-1)))

    total = sum(
        length(f"{side}_{a}", f"{side}_{b}")
        for side in SIDES
        for a, b in (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
    )
    return total / (2.0 * (LEG_SHARE + ARM_SHARE))


def find_unit(stature: float) -> tuple[Unit | None, list[Note]]:
    """The unit that makes a stature human, and a note that says how sure that is.

    Args:
        stature: in the unit of the file.

    Returns:
        No unit, and no note, when none leads into :data:`motionkit.clip.STATURE_RANGE`.
    """
    fitting = [u for u in UNITS if STATURE_RANGE[0] <= stature * u.metres <= STATURE_RANGE[1]]
    if not fitting:
        return None, []

    def score(unit: Unit) -> float:
        z = (stature * unit.metres - MEAN_STATURE) / STATURE_SPREAD
        return float(np.log(unit.prior) - 0.5 * z * z)

    ranked = sorted(fitting, key=score, reverse=True)
    best = ranked[0]
    text = (
        f"unit taken for {best.name}: limbs of a stature of {stature:.4g} units, "
        f"{stature * best.metres:.2f} m"
    )
    others = [f"{u.name} would give {stature * u.metres:.2f} m" for u in ranked[1:]]
    if others:
        text += f" ({'; '.join(others)}; --scale decides otherwise)"
    return best, [Note("MK103", text, best.metres, "m")]


def find_up(pos: Float[Array, "S J 3"], roles: dict[str, int]) -> tuple[UpAxis, list[Note]]:
    """The axis that points up in the world of ``pos``, and notes on doubts about it."""
    ankles = 0.5 * (pos[:, roles["left_ankle"]] + pos[:, roles["right_ankle"]])
    body = pos[:, roles["head"]] - ankles
    length = np.linalg.norm(body, axis=-1, keepdims=True)
    direction = np.mean(body / np.where(length > 0, length, 1.0), axis=0)
    stature = stature_from_limbs(pos, roles)
    points = _body_points(pos, roles)

    def score(axis: str) -> float:
        lowest = np.min(points @ axis_vector(axis), axis=1)
        low, high = np.percentile(lowest, [10, 90])
        spread = min(float(high - low) / stature, FLOOR_SPREAD) if stature > 0 else 0.0
        cosine = float(direction @ axis_vector(axis))
        return cosine + AXIS_PRIOR[axis] - FLOOR_WEIGHT * spread

    axes: tuple[UpAxis, ...] = ("y", "z", "x", "-y", "-z", "-x")
    best = max(axes, key=score)
    cosine = float(direction @ axis_vector(best))
    text = f"up axis taken for {best}: mean cosine between it and ankles-to-head {cosine:.2f}"
    if cosine < UPRIGHT:
        text += ", the person is not upright for most of the clip; --up decides otherwise"
        return best, [Note("MK104", text, cosine)]
    norm = float(np.linalg.norm(direction))
    if cosine / norm < TILT:
        angle = float(np.degrees(np.arccos(min(1.0, cosine / norm))))
        text = f"the body leans {angle:.0f}° from the up axis {best} on average; a tilted world?"
        return best, [Note("MK105", text, angle, "°")]
    return best, _note_rival(points, stature, best)


def _note_rival(points: Float[Array, "S R 3"], stature: float, best: UpAxis) -> list[Note]:
    """A note when the body may as well lie on a floor at zero of another axis, all the time.

    The same for an axis that is not one of the two usual ones.
    """

    def has_floor_at_zero(axis: str) -> bool:
        floor = float(np.percentile(np.min(points @ axis_vector(axis), axis=1), FLOOR_PERCENTILE))
        return abs(floor) <= ON_FLOOR * stature

    def is_flat(axis: str) -> bool:
        height = np.ptp(points @ axis_vector(axis), axis=1)
        return float(np.max(height)) <= LYING_HEIGHT * stature

    if best not in ("y", "z"):
        text = f"up axis taken for {best}, which hardly any writer has; --up decides otherwise"
        return [Note("MK104", text)]
    if has_floor_at_zero(best):
        return []
    rivals = [a for a in ("y", "z") if a != best and is_flat(a) and has_floor_at_zero(a)]
    if not rivals:
        return []
    text = (
        f"up axis taken for {best}, along which the floor is not at zero; a person who lies all "
        f"the time in a world with {rivals[0]} up would look the same; --up decides otherwise"
    )
    return [Note("MK104", text)]


def is_root_relative(lowest: float, shift: float, stature: float) -> bool:
    """Whether root positions are relative to the root's OFFSET rather than in its place.

    Args:
        lowest: height of the body's lowest points as the positions stand.
        shift: what adding OFFSET would add to it.
        stature: of the body; all three in one unit.
    """
    deep = lowest < -BELOW_FLOOR * stature
    return deep and abs(lowest + shift) <= ON_FLOOR * stature


def sample_frames(frames: int) -> Int[Array, "S"]:
    """Indices of at most :data:`SAMPLE_FRAMES` frames, evenly spread, first and last included."""
    return np.unique(np.linspace(0, frames - 1, min(frames, SAMPLE_FRAMES)).astype(np.int64))


def sample_positions(clip: SkeletonClip) -> Float[Array, "S J 3"]:
    """World positions of all joints in the sampled frames."""
    at = sample_frames(clip.num_frames)
    few = replace(
        clip,
        root_pos_w=clip.root_pos_w[at],
        joint_quat=clip.joint_quat[at],
        local_pos=None if clip.local_pos is None else clip.local_pos[at],
    )
    return few.global_pose()[0]


def floor_height(pos: Float[Array, "S J 3"], roles: dict[str, int], up: UpAxis) -> float:
    """Height along ``up`` of the floor that the lowest joints suggest, in the unit of ``pos``."""
    lowest = np.min(_body_points(pos, roles) @ axis_vector(up), axis=1)
    return float(np.percentile(lowest, FLOOR_PERCENTILE))


def _body_points(pos: Float[Array, "S J 3"], roles: dict[str, int]) -> Float[Array, "S R 3"]:
    """The joints with roles: a static root at the origin is no part of the body."""
    return pos[:, sorted(set(roles.values()))]


def facing(pos: Float[Array, "S J 3"], roles: dict[str, int]) -> Float[Array, "S"]:
    """Heading of the body [rad] in a Z-up world, from the lines of hips and shoulders."""
    across = sum(pos[:, roles[f"left_{part}"]] - pos[:, roles[f"right_{part}"]]
                 for part in ("hip", "shoulder"))  # fmt: skip
    across = np.asarray(across)
    return np.arctan2(-across[:, 0], across[:, 1])


def find_doubts(pos: Float[Array, "S J 3"], roles: dict[str, int]) -> list[Note]:
    """What is odd about a body in motionkit's world, and may be right."""
    notes = []
    stature = stature_from_limbs(pos, roles)
    low, high = STATURE_RANGE
    if not low <= stature <= high:
        text = f"limbs of a stature of {stature:.3g} m, people have {low:g} to {high:g} m"
        notes.append(Note("MK114", text, stature, "m"))
    floor = floor_height(pos, roles, "z")
    if abs(floor) > ON_FLOOR * stature:
        text = f"the lowest joint stays at {floor:.3f} m: the file's floor is not at zero"
        notes.append(Note("MK112", text, floor, "m"))
    angle = facing(pos, roles)
    forward = np.stack([np.cos(angle), np.sin(angle), np.zeros(len(angle))], axis=-1)
    toes = [(roles[f"{side}_ankle"], roles[f"{side}_foot"]) for side in SIDES
            if f"{side}_foot" in roles]  # fmt: skip
    for ankle, toe in toes[:1]:
        step = pos[:, toe] - pos[:, ankle]
        length = np.linalg.norm(step[:, :2], axis=1)
        ahead = np.sum(step * forward, axis=1) / np.where(length > 0, length, 1.0)
        cosine = float(np.median(ahead))
        if cosine < BACKWARDS:
            text = (f"toes point backwards (cosine {cosine:.2f}): left and right are swapped, or "
                    "the file is left-handed")  # fmt: skip
            notes.append(Note("MK113", text, cosine))
    return notes
