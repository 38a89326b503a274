"""A robot: one free root, hinges and slides, read from any MJCF, and how it pairs with a human.

The pairing (landmarks, feet, budgets) is a profile: a TOML file, described in ``docs/robots.md``.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.errors import AssetError, ConfigError, InputError
from motionkit.kinematics import BLOCK, Kinematics, Tree, apply, path_to_root, split_qpos
from motionkit.mjcf import Surface, collision_surface, compile_mjcf, joint_range, read_tree
from motionkit.profile import Foot as Foot
from motionkit.profile import JointBudget as JointBudget
from motionkit.profile import Landmark as Landmark
from motionkit.profile import number, parse_profile, read_budget, read_feet, read_landmark
from motionkit.tpose import require_tpose

if TYPE_CHECKING:
    import mujoco

Array = np.ndarray

_SOLE_TOLERANCE = 0.01  # [m], points this close to the lowest of a foot body belong to its sole
_RANGE_TOLERANCE = 1e-6  # [rad or m]: the limits are rounded inwards to float32, a profile is not


@dataclass(frozen=True)
class Robot:
    """A robot that motions can be put on. Made by :func:`load_robot`."""

    name: str
    """Short name, as on the command line."""
    mjcf: str
    """The model as MJCF text, compiled and saved by MuJoCo."""
    sha256: str
    """Of the model and the profile: two robots with one hash are the same robot."""
    tree: Tree
    """Kinematic tree of the bodies below the free root."""
    joint_names: tuple[str, ...]
    """Hinges and slides in ``qpos`` order (n)."""
    joint_range: Float[Array, "n 2"]
    """Limits [rad or m], rounded inwards to float32 so that a stored angle can sit on them;
    ±inf where unlimited."""
    body_names: tuple[str, ...]
    """Bodies below the free root, the root first (B)."""
    body_mass: Float[Array, "B"]
    """Masses [kg]."""
    landmarks: tuple[Landmark, ...]
    """Pairing with the human."""
    feet: tuple[Foot, Foot]
    """Left and right."""
    surface: Surface
    """Collision geometry as spheres, for ground contact."""
    budget: JointBudget
    """Joint budgets of the profile."""
    profile: dict[str, Any]
    """The whole profile, for tables that only a consumer needs (motors, mirror, anchor)."""
    model: "mujoco.MjModel"
    """The compiled model."""

    @property
    def num_joints(self) -> int:
        """Hinges and slides."""
        return len(self.joint_names)

    @property
    def forward_axis(self) -> str:
        """Where the model faces at rest: ``+x``, ``+y``, ``-x`` or ``-y``."""
        return str(self.profile.get("forward", "+x"))

    @cached_property
    def contact_bodies(self) -> tuple[str, ...]:
        """Bodies of the contact columns: left heel, left toe, right heel, right toe, once each."""
        return tuple(dict.fromkeys(name for f in self.feet for name in (f.heel, f.toe)))

    def body_index(self, name: str) -> int:
        """Index of a body by name.

        Raises:
            ConfigError: no such body.
        """
        return _index(self.body_names, name, "body", self.name)

    def joint_index(self, name: str) -> int:
        """Index of a joint by name.

        Raises:
            ConfigError: no such joint.
        """
        return _index(self.joint_names, name, "joint", self.name)

    def rest_qpos(self) -> Float[Array, "nq"]:
        """Rest pose with the root at the origin."""
        return np.concatenate([np.zeros(3), rotation.IDENTITY, self.tree.ref])

    def tpose_qpos(self) -> Float[Array, "nq"]:
        """The pose that matches a human's T-pose facing +X, root at the origin."""
        qpos = self.rest_qpos()
        for joint, value in self.profile.get("tpose", {}).items():
            qpos[7 + self.joint_index(joint)] = _tpose_value(self, joint, value)
        qpos[3:7] = rotation.conjugate(_facing(self))
        return qpos

    def require_tpose(self) -> None:
        """Refuse a profile whose T-pose is certainly none.

        Raises:
            ConfigError: saying which landmarks are where they are not in a T-pose.
        """
        pos, _ = self.forward(self.tpose_qpos()[None])
        require_tpose(
            self.name, self.tree, self.joint_names, self.body_names, self.landmarks, self.feet,
            pos[0],
        )  # fmt: skip

    def sole(self, body: str) -> tuple[Float[Array, "P 3"], Float[Array, "P"]]:
        """Spheres of a foot body that carry it standing in the rest pose: centres, radii [m]."""
        _, quat = self.forward(self.rest_qpos()[None])
        index = self.body_index(body)
        own = self.surface.body_index == index
        center, radius = self.surface.center[own], self.surface.radius[own]
        if not len(center):
            raise AssetError(f"foot body {body} has no collision geometry", where=self.name)
        bottom = rotation.rotate(quat[0, index], center)[:, 2] - radius
        low = bottom < bottom.min() + _SOLE_TOLERANCE
        return center[low], radius[low]

    def forward(
        self, qpos: Float[Array, "T nq"]
    ) -> tuple[Float[Array, "T B 3"], Float[Array, "T B 4"]]:
        """World positions [m] and orientations (wxyz) of all bodies, as ``mj_kinematics``.

        Orientations carry no particular sign; :func:`motionkit.rotation.unroll` gives them one.
        """
        self._require_qpos(qpos)
        kinematics = Kinematics(self.tree)
        bodies = len(self.body_names)
        pos = np.empty((len(qpos), bodies, 3))
        quat = np.empty((len(qpos), bodies, 4))
        for start in range(0, len(qpos), BLOCK):
            block = np.asarray(qpos[start : start + BLOCK], dtype=np.float64)
            kinematics.update(*split_qpos(block))
            pos[start : start + BLOCK] = np.moveaxis(kinematics.x, -1, 0)
            quat[start : start + BLOCK] = rotation.from_matrix(np.moveaxis(kinematics.R, -1, 0))
        return pos, quat

    def jacobian(
        self, qpos: Float[Array, "T nq"], body: str, point: Float[Array, "3"]
    ) -> Float[Array, "T 6 nv"]:
        """Analytic Jacobian of a point fixed to a body, for every frame, as ``mj_jac``.

        Rows are the velocity of the point and the angular velocity of the body, both in the
        world; columns are MuJoCo's ``qvel`` (root linear in the world, root angular in the
        root's frame, joints).

        Args:
            qpos: the poses.
            body: body name.
            point: in the body's frame [m].
        """
        self._require_qpos(qpos)
        index, tree = self.body_index(body), self.tree
        kinematics = Kinematics(tree)
        kinematics.update(*split_qpos(np.asarray(qpos, dtype=np.float64)))
        arm = kinematics.x[index] + apply(kinematics.R[index], point) - kinematics.x[0]
        out = np.zeros((6, 6 + self.num_joints, len(qpos)))
        out[:3, :3] = np.eye(3)[:, :, None]
        out[3:, 3:6] = kinematics.R[0]
        out[:3, 3:6] = np.cross(kinematics.R[0], arm[:, None], axis=0)
        ancestors = set(path_to_root(tree, index))
        for j, b in enumerate(tree.joint_body):
            if b not in ancestors:
                continue
            if tree.is_slide[j]:
                out[:3, 6 + j] = kinematics.axis[j]
            else:
                out[:3, 6 + j] = np.cross(kinematics.axis[j], arm - kinematics.arm[j], axis=0)
                out[3:, 6 + j] = kinematics.axis[j]
        return np.moveaxis(out, -1, 0)

    def _require_qpos(self, qpos: Array) -> None:
        if qpos.ndim != 2 or qpos.shape[1] != 7 + self.num_joints:
            raise InputError(
                f"qpos has shape {qpos.shape}, expected (T, {7 + self.num_joints})", where=self.name
            )


def _index(names: tuple[str, ...], name: str, what: str, robot: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise ConfigError(f"no {what} named {name}", where=robot,
                          help=f"the robot has: {', '.join(names)}") from None  # fmt: skip


def load_robot(name: str | Path, profile: str | Path | None = None) -> Robot:
    """A bundled robot by name, or any MJCF by path with its profile beside it.

    Args:
        name: a bundled name (``motionkit robots list``) or the path of an MJCF file.
        profile: path of the profile; default the MJCF's name with the suffix ``.toml``, else
            ``robot.toml`` in its folder.

    Raises:
        AssetError: unknown name, unreadable or unsuitable model.
        ConfigError: the profile is incomplete, names what the model lacks, or gives a T-pose
            that is none.
    """
    robot = read_robot(name, profile)
    robot.require_tpose()
    return robot


def read_robot(name: str | Path, profile: str | Path | None = None) -> Robot:
    """As :func:`load_robot`, but the T-pose may be none: to look at, not to put motions on."""
    path = Path(name)
    if path.suffix.lower() != ".xml" and not path.is_file():
        from motionkit.assets import robot_files

        mjcf, text = robot_files(str(name))
        return _build(str(name), mjcf.encode(), text.encode(), None)
    if not path.is_file():
        raise AssetError(
            "no such model file", where=str(path), help="give the path of an MJCF file"
        )
    options = (
        [Path(profile)] if profile else [path.with_suffix(".toml"), path.parent / "robot.toml"]
    )
    found = next((p for p in options if p.is_file()), None)
    if profile and found is None:
        raise AssetError("no such profile", where=str(profile))
    if found is None:
        raise AssetError(
            f"no profile beside the model, looked for {' and '.join(str(p) for p in options)}",
            where=str(path),
            help="write a robot.toml with the tables that docs/robots.md lists",
        )
    return _build(path.name, path.read_bytes(), found.read_bytes(), path.parent)


def _build(where: str, mjcf: bytes, profile_text: bytes, folder: Path | None) -> Robot:
    model, digest = compile_mjcf(where, mjcf, folder)
    tree, joint_ids, body_ids = read_tree(where, model)
    profile = parse_profile(where, profile_text)
    body_names = tuple(model.body(i).name or f"body{i}" for i in body_ids)
    joint_names = tuple(model.joint(i).name or f"joint{i}" for i in joint_ids)
    feet = read_feet(where, profile["feet"])
    for side, foot in zip(("left", "right"), feet, strict=True):
        for body in (foot.heel, foot.toe):
            _index(body_names, body, "body", f"{where}: [feet.{side}]")
    partial = Robot(
        name=str(profile["name"]),
        mjcf=mjcf.decode("utf-8", errors="replace"),
        sha256=hashlib.sha256(digest + profile_text).hexdigest(),
        tree=tree,
        joint_names=joint_names,
        joint_range=joint_range(where, model, joint_ids),
        body_names=body_names,
        body_mass=model.body_mass[list(body_ids)].copy(),
        landmarks=(),
        feet=feet,
        surface=collision_surface(model, body_ids),
        budget=read_budget(where, profile.get("budget", {})),
        profile=profile,
        model=model,
    )
    return replace(partial, landmarks=_read_landmarks(partial))


def _read_landmarks(robot: Robot) -> tuple[Landmark, ...]:
    """Landmarks of the profile; mounts from the pose in its ``[tpose]`` table (default: rest)."""
    quat = robot.forward(robot.tpose_qpos()[None])[1][0]
    landmarks = []
    for body, table in robot.profile["landmarks"].items():
        w, x, y, z = (float(v) for v in quat[robot.body_index(body)])
        landmarks.append(replace(read_landmark(robot.name, body, table), mount=(w, x, y, z)))
    bodies: dict[str, str] = {}
    for mark in landmarks:
        if (other := bodies.setdefault(mark.human, mark.body)) != mark.body:
            raise ConfigError(f"{other} and {mark.body} both pair with {mark.human}",
                              where=robot.name, help="keep one of the two landmarks")  # fmt: skip
    landmarks.sort(key=lambda mark: robot.body_index(mark.body))
    root = robot.body_names[0]
    if not landmarks or landmarks[0].human != "pelvis" or landmarks[0].body != root:
        raise ConfigError("the root body does not pair with the human pelvis", where=robot.name,
                          help=f'add [landmarks.{root}] human = "pelvis"')  # fmt: skip
    paired = [mark.body for mark in landmarks]
    for foot in robot.feet:
        for body in (foot.heel, foot.toe):
            if body not in paired:
                raise ConfigError(f"foot body {body} is no landmark", where=robot.name,
                                  help=f"add [landmarks.{body}] to the profile")  # fmt: skip
    return tuple(landmarks)


def _tpose_value(robot: Robot, joint: str, value: Any) -> float:
    """A value of the table ``[tpose]`` that its joint can take [rad or m]."""
    where = f"{robot.name}: [tpose] {joint}"
    angle, index = number(value, where), robot.joint_index(joint)
    slides = robot.tree.is_slide[index]
    turn = np.inf if slides else 2 * np.pi
    low, high = np.clip(robot.joint_range[index], -turn, turn)
    if not low - _RANGE_TOLERANCE <= angle <= high + _RANGE_TOLERANCE:
        unit = "metres" if slides else "radians"
        raise ConfigError(f"found {angle:g}, outside the joint's range of {low:.4g} to {high:.4g}",
                          where=where, help=f"give the value in {unit}")  # fmt: skip
    return angle


def _facing(robot: Robot) -> Float[Array, "4"]:
    """Rotation from the T-pose facing +X to the robot's own rest heading."""
    headings = {"+x": 0.0, "+y": 0.5 * np.pi, "-x": np.pi, "-y": -0.5 * np.pi}
    if robot.forward_axis not in headings:
        raise ConfigError(f"forward is {robot.forward_axis!r}", where=robot.name,
                          help=f"it is one of: {', '.join(headings)}")  # fmt: skip
    return rotation.from_axis_angle("Z", np.asarray(headings[robot.forward_axis]))
