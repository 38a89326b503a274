"""What all checks share: the stored motion, and what kinematics makes of it, computed once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.audit.config import AuditConfig
from motionkit.audit.findings import Finding, make_finding
from motionkit.cache import Reference, derive
from motionkit.robot import Robot

Array = np.ndarray

Checked = tuple[dict[str, Any], list[Finding]]
"""Figures for the summary, by topic, and findings: what every check returns."""


@dataclass(frozen=True, slots=True)
class Motion:
    """A stored motion in float64, with its bodies from kinematics, not from the cache."""

    reference: Reference
    """As stored."""
    robot: Robot
    """Whose motion it should be."""
    config: AuditConfig
    """Limits."""
    root_pos: Float[Array, "T 3"]
    """[m]."""
    joints: Float[Array, "T n"]
    """Joint coordinates [rad or m]."""
    derived: dict[str, Array]
    """Of :func:`motionkit.cache.derive`."""
    mat: Float[Array, "T B 3 3"]
    """Rotations of the bodies, body to world."""
    surface_height: Float[Array, "T P"]
    """Lowest points of the spheres of the collision surface [m]."""
    surface_place: Float[Array, "T P 2"]
    """Level places of their centres [m]."""

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.reference.fps

    @property
    def num_frames(self) -> int:
        """Frames."""
        return self.reference.num_frames

    @property
    def pos(self) -> Float[Array, "T B 3"]:
        """Link origins [m]."""
        return self.derived["body_pos_w"]

    def points(self, body: int, local: Float[Array, "P 3"]) -> Float[Array, "T P 3"]:
        """World positions of points of a body [m]."""
        return _points(self.pos, self.mat, body, local)

    def finding(self, code: str, message: str, **fields: Any) -> Finding:
        """A finding about this clip."""
        return make_finding(self.reference.name, code, message, **fields)


def make_motion(reference: Reference, robot: Robot, config: AuditConfig) -> Motion:
    """Compute what the checks share. The arrays must be finite."""
    qpos = np.asarray(reference.qpos)
    derived = derive(robot, qpos, reference.fps)
    pos, mat = derived["body_pos_w"], rotation.to_matrix(derived["body_quat_w"])
    surface = robot.surface
    # The surface lists its bodies ascending, as unique does.
    points = [
        _points(pos, mat, body, surface.center[surface.body_index == body])
        for body in np.unique(surface.body_index).tolist()
    ]
    sphere = np.concatenate([np.empty((len(qpos), 0, 3)), *points], axis=1)
    return Motion(
        reference=reference,
        robot=robot,
        config=config,
        root_pos=qpos[:, :3].astype(np.float64),
        joints=qpos[:, 7:].astype(np.float64),
        derived=derived,
        mat=mat,
        surface_height=sphere[..., 2] - surface.radius,
        surface_place=sphere[..., :2],
    )


def _points(
    pos: Float[Array, "T B 3"], mat: Float[Array, "T B 3 3"], body: int, local: Float[Array, "P 3"]
) -> Float[Array, "T P 3"]:
    return pos[:, None, body] + np.einsum("tij,pj->tpi", mat[:, body], local)


def worst(values: Float[Array, "*n"]) -> tuple[int, ...]:
    """Index of the largest value."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(values)), values.shape))
