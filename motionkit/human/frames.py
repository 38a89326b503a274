"""The frames that joints have in the T-pose, and the ways to find one."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation
from motionkit.human.source import Source, index, mean_rotation

Array = np.ndarray

X, Y, Z = np.eye(3)

_TINY = 1e-9  # length of a direction that is none


@dataclass(slots=True)
class Calibration:
    """What has been found so far."""

    frames: Float[Array, "52 4"]
    """``A_i``: joint frame to T-pose axes; the identity where the role is missing."""
    has_standing_trunk: bool = False
    """Whether the zero pose shows the trunk."""
    from_motion: list[str] = field(default_factory=list)
    """Parts whose axes the motion gave."""
    unseen: list[str] = field(default_factory=list)
    """Knees and elbows that show no axis; the part above stood in."""

    def __getitem__(self, role: str) -> Float[Array, "4"]:
        """``A`` of a role."""
        return self.frames[index(role)]

    def __setitem__(self, role: str, quat: Float[Array, "4"]) -> None:
        """Set ``A`` of a role."""
        self.frames[index(role)] = quat


def stand_on_part_above(
    source: Source, out: Calibration, role: str, when: Bool[Array, "T"] | None = None
) -> None:
    """Let a part be aligned with the nearest part above it, on average over some frames or all."""
    above = source.above(role)
    turn = rotation.multiply(source.quat[:, index(above)], rotation.conjugate(out[above]))
    relative = rotation.multiply(rotation.conjugate(turn), source.quat[:, index(role)])
    if when is not None:
        out[role] = mean_rotation(relative[when] if when.any() else relative)
    else:
        out[role] = source.snap_rotation(mean_rotation(relative))


def axis_of(
    source: Source, out: Calibration, above: str, role: str, axis: Float[Array, "3"]
) -> Float[Array, "3"]:
    """Mean direction, in a joint's frame, of an axis of the part above it."""
    turn = rotation.multiply(source.quat[:, index(above)], rotation.conjugate(out[above]))
    return np.mean(source.in_frame(role, rotation.rotate(turn, axis)), axis=0)


def zero_bone(source: Source, near: str, far: str) -> Float[Array, "3"] | None:
    """Direction from one role to another in the zero pose."""
    return unit(source.zero[index(far)] - source.zero[index(near)])


def swing(
    frame: Float[Array, "4"], bone: Float[Array, "3"], along: Float[Array, "3"]
) -> Float[Array, "4"]:
    """The frame turned by the shortest rotation that lays the bone along a direction."""
    return rotation.multiply(rotation.between(rotation.rotate(frame, bone), along), frame)


def fix(
    first: Float[Array, "3"], first_wanted: Float[Array, "3"],
    second: Float[Array, "3"], second_wanted: Float[Array, "3"],
) -> Float[Array, "4"]:  # fmt: skip
    """The frame that has two directions where wanted: the first exactly, the second nearly."""
    local, wanted = _triad(first, second), _triad(first_wanted, second_wanted)
    return rotation.from_matrix(wanted.T @ local)


def _triad(first: Float[Array, "3"], second: Float[Array, "3"]) -> Float[Array, "3 3"]:
    a = first / np.linalg.norm(first)
    normal = np.cross(a, second)
    if np.linalg.norm(normal) < _TINY * np.linalg.norm(second):  # any turn is as good
        normal = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
    normal = normal / np.linalg.norm(normal)
    return np.stack([a, np.cross(normal, a), normal])


def unit(vector: Float[Array, "3"]) -> Float[Array, "3"] | None:
    """The direction of a vector; None where it has none."""
    norm = np.linalg.norm(vector)
    return None if not norm > _TINY else vector / norm
