"""The body that is fitted to markers: 22 joints of SMPL-H, their freedoms, and what shape may be.

Every part ``i`` has a world rotation ``R_i``, the identity in the T-pose facing +X, and hangs from
its parent ``p`` by a constant offset ``o_i``; ``r_i = R_pᵀ R_i`` is the rotation of its joint::

    x_i = x_p + R_p o_i,   R_i = R_p r_i

**Shape.** ``o = S e + D d`` with stature ``S`` [m], the embedded body's offsets ``e`` per metre
of stature, and deviations ``d`` [m] that are the same for left and right; ``D`` mirrors them.

**Pose prior.** Standing with hanging arms. With ``n_i`` the rotation of a joint in it, the
components of ``log(r_i n_iᵀ)`` along the parent's axes have the standard deviations of
:data:`SPREAD`: wide where people move a joint, narrow about axes which it hardly has (knees are
nearly hinges). So joints that markers do not tell apart, as those of the spine, share a motion.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS
from motionkit.human.skeleton import LIMBS, embedded_rest, stature_from_bones

Array = np.ndarray

JOINTS = SMPLH_JOINTS[:22]
"""Joints that are fitted; fingers stay at rest."""
PARENTS = SMPLH_PARENTS[:22]
"""Parent of each."""
INDEX = {name: i for i, name in enumerate(JOINTS)}
"""Index of each."""
MIRROR = tuple(
    INDEX[
        name.replace("left", "right") if name.startswith("left") else name.replace("right", "left")
    ]
    for name in JOINTS
)
"""The joint on the other side; itself on the midline."""
MEAN_STATURE, STATURE_SIGMA = 1.70, 0.20  # [m], of adults and older children together

_DEG = np.pi / 180.0
SPREAD: dict[str, tuple[float, float, float]] = {
    "pelvis": (np.inf, np.inf, np.inf),
    "hip": (30 * _DEG, 60 * _DEG, 25 * _DEG),
    "knee": (3 * _DEG, 90 * _DEG, 6 * _DEG),
    "ankle": (12 * _DEG, 30 * _DEG, 10 * _DEG),
    "foot": (2 * _DEG, 12 * _DEG, 2 * _DEG),
    "spine1": (8 * _DEG, 10 * _DEG, 8 * _DEG),
    "spine2": (8 * _DEG, 10 * _DEG, 8 * _DEG),
    "spine3": (8 * _DEG, 10 * _DEG, 8 * _DEG),
    "neck": (15 * _DEG, 20 * _DEG, 20 * _DEG),
    "head": (15 * _DEG, 20 * _DEG, 20 * _DEG),
    "collar": (10 * _DEG, 6 * _DEG, 10 * _DEG),
    "shoulder": (80 * _DEG, 50 * _DEG, 70 * _DEG),
    "elbow": (90 * _DEG, 50 * _DEG, 90 * _DEG),
    "wrist": (30 * _DEG, 3 * _DEG, 20 * _DEG),
}
"""Standard deviations about X, Y, Z of the parent's T-pose axes [rad]. Ranges of everyday motion,
by construction; they matter only where markers are silent."""
ARM_HANG = 80 * _DEG
"""Upper arms of the mean pose below the horizontal [rad]."""
ELBOW_BEND = 15 * _DEG
"""Elbows of the mean pose [rad]."""
CARRY_SIGMA = 4 * _DEG
"""Of the forearm out of the elbow's plane of flexion [rad]; the mean carrying angle is in the
place of the markers."""
HYPEREXTENSION = 5 * _DEG
"""Of knees and elbows, free of cost [rad]."""
HYPEREXTENSION_SIGMA = 2 * _DEG
"""Standard deviation beyond it [rad]."""

_ALONG = (
    0.10  # of a bone's length: how proportions of people differ (ANSUR: 5 % of a limb), doubled
)
_ACROSS = 0.012  # [m], how far a joint lies off the embedded body's straight line
_LEAST = 0.012  # [m], least standard deviation of a bone's length


@dataclass(frozen=True, slots=True)
class Shape:
    """Offsets of the joints as a linear function of stature and deviations."""

    mean: Float[Array, "22 3"]
    """Offsets per metre of stature."""
    basis: Float[Array, "22 3 D"]
    """Change of the offsets per deviation."""
    sigma: Float[Array, "D"]
    """Standard deviation of each [m]."""

    def offsets(self, stature: float, deviation: Float[Array, "D"]) -> Float[Array, "22 3"]:
        """Offset of each joint from its parent [m]."""
        return stature * self.mean + self.basis @ deviation


def shape_model(*, joints_are_given: bool) -> Shape:
    """What shapes a body may have.

    Args:
        joints_are_given: the points are joint centres, so a skeleton of other proportions, or one
            whose spine is not straight, shows itself.
    """
    rest = embedded_rest(1.0)[:22]
    mean = np.zeros((22, 3))
    columns: list[Array] = []
    sigma: list[float] = []
    for i in range(1, 22):
        mean[i] = rest[i] - rest[PARENTS[i]]
        if MIRROR[i] < i:
            continue
        on_midline = MIRROR[i] == i
        length = float(np.linalg.norm(mean[i])) * MEAN_STATURE
        main = int(np.argmax(np.abs(mean[i])))
        for axis in range(3):
            if on_midline and axis == 1:
                continue
            column = np.zeros((22, 3))
            column[i, axis] = 1.0
            if not on_midline:
                column[MIRROR[i], axis] = -1.0 if axis == 1 else 1.0
            columns.append(column)
            spread = max(_ALONG * length, _LEAST) if axis == main else _ACROSS
            sigma.append(4.0 * spread if joints_are_given else spread)
    return Shape(mean, np.stack(columns, axis=-1), np.array(sigma))


def mean_pose() -> Float[Array, "22 3 3"]:
    """Joint rotations of standing with hanging arms."""
    out = np.tile(np.eye(3), (22, 1, 1))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = rotation.from_rotvec(np.array([-sign * ARM_HANG, 0.0, 0.0]))
        bend = rotation.from_rotvec(np.array([0.0, 0.0, -sign * ELBOW_BEND]))
        out[INDEX[f"{side}_shoulder"]] = rotation.to_matrix(arm)
        out[INDEX[f"{side}_elbow"]] = rotation.to_matrix(bend)
    return out


def spread() -> Float[Array, "22 3"]:
    """:data:`SPREAD` of each joint [rad]."""
    return np.array([SPREAD[name.removeprefix("left_").removeprefix("right_")] for name in JOINTS])


def forward(
    offsets: Float[Array, "22 3"], root: Float[Array, "T 3"], local: Float[Array, "T 22 3 3"]
) -> tuple[Float[Array, "T 22 3"], Float[Array, "T 22 3 3"]]:
    """World positions [m] and rotations of the joints."""
    pos, world = np.empty((len(root), 22, 3)), np.empty((len(root), 22, 3, 3))
    pos[:, 0], world[:, 0] = root, local[:, 0]
    for i in range(1, 22):
        p = PARENTS[i]
        pos[:, i] = pos[:, p] + world[:, p] @ offsets[i]
        world[:, i] = world[:, p] @ local[:, i]
    return pos, world


def stature_of(offsets: Float[Array, "22 3"]) -> float:
    """Standing height from the long bones, as for skeletons [m]."""
    length = {
        (near, far): float(np.linalg.norm(offsets[INDEX[f"left_{far}"]])) for near, far, _ in LIMBS
    }
    return stature_from_bones(length)


def chain(joint: int) -> list[int]:
    """The joint and all above it, from the root down."""
    path = []
    while joint >= 0:
        path.append(joint)
        joint = PARENTS[joint]
    return path[::-1]
