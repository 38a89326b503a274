"""A camera that looks at a point, with MuJoCo's free camera's conventions.

With azimuth ``a`` and elevation ``e`` the viewing direction is ``f = (cos e cos a, cos e sin a,
sin e)`` and the eye lies at ``lookat - distance f``. A point ``p`` appears at
``(h/2) / tan(fovy/2) · (r·d, -u·d) / (f·d)`` from the centre of the picture, ``d`` being
``p - eye``, ``r`` and ``u`` the camera's right and up, and ``h`` the picture's height.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.robot import Robot

Array = np.ndarray

_FOVY = np.radians(45.0)  # [rad], MuJoCo's default
_MARGIN = 0.08  # share of the picture that stays empty at each side
FROM_FRONT = np.radians(55.0)  # [rad], of the camera from straight ahead of the robot
_ELEVATION = np.radians(-10.0)  # [rad]
_TALL = 1.5  # times as far may the eye be before it follows the robot up and down instead
_SHOWN_GROUPS = 3  # MuJoCo renders the geometry of groups 0, 1 and 2


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
    robot: Robot,
    qpos: Float[Array, "T nq"],
    aspect: float,
    turn: Float[Array, "T"] | float = float(FROM_FRONT),
) -> list[Camera]:
    """A camera a frame, from one side that the first frame decides, all at one scale.

    Every body origin, collision sphere and visible shape lies inside the picture with a margin.
    One metre beside the root is as long in all pictures; the robot is centred from left to right,
    and up and down too unless a camera of one height can see all frames.

    Args:
        robot: who moves.
        qpos: the poses.
        aspect: width over height of a picture.
        turn: from straight ahead of the robot in the first frame to the camera, to the robot's
            right [rad], a frame or for all.
    """
    forward = rotation.rotate(
        rotation.conjugate(robot.tpose_qpos()[3:7]), np.array([1.0, 0.0, 0.0])
    )
    ahead = rotation.rotate(rotation.normalize(qpos[0, 3:7]), forward)
    azimuth = np.arctan2(ahead[1], ahead[0]) + np.pi - np.broadcast_to(turn, len(qpos))
    point, radius = _shape(robot, qpos)
    return surround(point, radius, qpos[:, :3], azimuth, aspect)


def surround(
    point: Float[Array, "T n 3"],
    radius: Float[Array, "n"],
    root: Float[Array, "T 3"],
    azimuth: Float[Array, "T"],
    aspect: float,
) -> list[Camera]:
    """A camera a frame that has all spheres in its picture, all at one scale.

    Args:
        point: centres of the spheres [m].
        radius: of the spheres [m].
        root: what the pictures are centred beside, before they are moved to hold the spheres [m].
        azimuth: direction of view about +Z [rad].
        aspect: width over height of a picture.
    """
    foot = root * [1.0, 1.0, 0.0]
    axes = np.stack([Camera(np.zeros(3), 1.0, a).axes for a in azimuth])
    seen = np.einsum("tij,tnj->tni", axes, point - foot[:, None])
    tangent = np.tan(0.5 * float(_FOVY)) * (1.0 - _MARGIN)
    middle_x, distance_x = _frame(seen[..., 0], seen[..., 2], radius, tangent * aspect)
    middle_y, distance_y = _frame(seen[..., 1], seen[..., 2], radius, tangent)
    shared, distance_shared = _frame(
        seen[..., 1].reshape(1, -1), seen[..., 2].reshape(1, -1),
        np.tile(radius, len(root)), tangent,
    )  # fmt: skip
    distance = max(distance_x.max(), distance_y.max())
    if distance_shared[0] < _TALL * distance:
        middle_y[:] = shared[0]
        distance = max(distance, distance_shared[0])
    lookat = foot + middle_x[:, None] * axes[:, 0] + middle_y[:, None] * axes[:, 1]
    return [Camera(at, float(distance), float(a)) for at, a in zip(lookat, azimuth, strict=True)]


def _frame(
    across: Float[Array, "T n"], depth: Float[Array, "T n"], radius: Float[Array, "n"], t: float
) -> tuple[Float[Array, "T"], Float[Array, "T"]]:
    """Middle of the view and least distance of the eye at which spheres lie between two planes.

    The planes meet in the eye, at ``t`` to either side of each unit of depth. A sphere touches one
    where ``±(across - middle) + radius √(1 + t²) = t (distance + depth)``, which is linear in
    both unknowns.
    """
    wide = radius * np.hypot(1.0, t)
    high = (across + wide - t * depth).max(axis=1)
    low = (across - wide + t * depth).min(axis=1)
    return 0.5 * (high + low), 0.5 * (high - low) / t


def _shape(
    robot: Robot, qpos: Float[Array, "T nq"]
) -> tuple[Float[Array, "T n 3"], Float[Array, "n"]]:
    """Spheres in the world that hold what a picture shows of the robot: centres, radii [m]."""
    pos, quat = robot.forward(qpos)
    index = robot.surface.body_index
    spheres = pos[:, index] + rotation.rotate(quat[:, index], robot.surface.center)
    corners = _visible_corners(robot, qpos)
    points = np.concatenate([pos, spheres, corners], axis=1)
    radius = np.zeros(points.shape[1])
    radius[pos.shape[1] : pos.shape[1] + len(index)] = robot.surface.radius
    return points, radius


def _visible_corners(robot: Robot, qpos: Float[Array, "T nq"]) -> Float[Array, "T n 3"]:
    """Corners of the boxes around the shapes that MuJoCo renders by default [m]."""
    import mujoco

    model = robot.model
    root = model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE][0]
    own = (model.body_rootid[model.geom_bodyid] == root) & (model.geom_group < _SHOWN_GROUPS)
    box = model.geom_aabb[own]
    sign = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    local = box[:, None, :3] + sign * box[:, None, 3:]
    data, out = mujoco.MjData(model), np.empty((len(qpos), len(box) * len(sign), 3))
    for t, row in enumerate(qpos):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        turn = data.geom_xmat[own].reshape(-1, 3, 3)
        place = np.einsum("gij,gcj->gci", turn, local) + data.geom_xpos[own][:, None]
        out[t] = place.reshape(-1, 3)
    return out
