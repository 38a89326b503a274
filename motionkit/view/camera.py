"""A camera that looks at a point, with MuJoCo's free camera's conventions.

With azimuth ``a`` and elevation ``e`` the viewing direction is ``f = (cos e cos a, cos e sin a,
sin e)`` and the eye lies at ``lookat - distance f``. A point ``p`` appears at
``(h/2) / tan(fovy/2) · (r·d, -u·d) / (f·d)`` from the centre of the picture, ``d`` being
``p - eye``, ``r`` and ``u`` the camera's right and up, and ``h`` the picture's height.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.robot import Robot

Array = np.ndarray

_FOVY = np.radians(45.0)  # [rad], MuJoCo's default
_MARGIN = 1.25  # picture height over the height of the standing robot
_FROM_FRONT = np.radians(55.0)  # [rad], of the camera from straight ahead of the robot
_ELEVATION = np.radians(-10.0)  # [rad]
_TALL = 1.6  # heights of the robot that a motion may span before the camera follows up and down


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera for one picture."""

    lookat: Float[Array, "3"]
    """World point in the middle of the picture [m]."""
    distance: float
    """From the eye to it [m]."""
    azimuth: float
    """Direction of view about +Z [rad]."""
    elevation: float = float(_ELEVATION)
    """Direction of view above the horizon [rad]."""
    fovy: float = float(_FOVY)
    """Vertical field of view [rad]."""

    @property
    def axes(self) -> Float[Array, "3 3"]:
        """Right, up and forward in the world, as rows."""
        (ca, sa), (ce, se) = (
            (np.cos(v), np.sin(v)) for v in (self.azimuth, self.elevation)
        )  # fmt: skip
        return np.array([[sa, -ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]])

    def project(
        self, point: Float[Array, "*n 3"], width: int, height: int
    ) -> tuple[Float[Array, "*n 2"], Float[Array, "*n"]]:
        """Pixels (x to the right, y down) and pixels per metre there; points before the eye."""
        axes = self.axes
        seen = (point - self.lookat) @ axes.T + np.array([0.0, 0.0, self.distance])
        scale = 0.5 * height / np.tan(0.5 * self.fovy) / seen[..., 2]
        pixel = seen[..., :2] * np.array([1.0, -1.0]) * scale[..., None]
        return pixel + 0.5 * np.array([width, height]), scale


def follow(
    robot: Robot, qpos: Float[Array, "T nq"], body_pos_w: Float[Array, "T B 3"]
) -> list[Camera]:
    """A camera a frame that follows the root, from one side that the first frame decides."""
    extent = _height(robot)
    forward = rotation.rotate(
        rotation.conjugate(robot.tpose_qpos()[3:7]), np.array([1.0, 0.0, 0.0])
    )
    ahead = rotation.rotate(rotation.normalize(qpos[0, 3:7]), forward)
    azimuth = float(np.arctan2(ahead[1], ahead[0])) + np.pi - float(_FROM_FRONT)
    low, high = body_pos_w[..., 2].min(axis=1), body_pos_w[..., 2].max(axis=1)
    if high.max() - low.min() < _TALL * extent:
        middle = np.full(len(qpos), 0.5 * (high.max() + low.min()))
    else:
        middle = 0.5 * (high + low)
    distance = 0.5 * _MARGIN * extent / np.tan(0.5 * float(_FOVY))
    return [
        Camera(np.array([x, y, z]), float(distance), azimuth)
        for (x, y), z in zip(qpos[:, :2], middle, strict=True)
    ]


def _height(robot: Robot) -> float:
    """Height of the robot at rest, with its collision geometry [m]."""
    pos, quat = robot.forward(robot.rest_qpos()[None])
    points, surface = pos[0, :, 2], robot.surface
    index = surface.body_index
    place = pos[0, index] + rotation.rotate(quat[0, index], surface.center)
    points = np.concatenate([points, place[:, 2] - surface.radius, place[:, 2] + surface.radius])
    return float(np.ptp(points))
