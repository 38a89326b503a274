"""A robot: one free root, hinges and slides, read from any MJCF, and how it pairs with a human.

The pairing (landmarks, feet, budgets) is a profile: a TOML file, described in ``docs/robots.md``.
"""

import hashlib
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS
from motionkit.errors import AssetError, ConfigError, InputError
from motionkit.kinematics import BLOCK, Kinematics, Tree, apply, path_to_root, split_qpos
from motionkit.mjcf import Surface, collision_surface, compile_mjcf, joint_range, read_tree

if TYPE_CHECKING:
    import mujoco

Array = np.ndarray

_PROFILE_SCHEMA = 1
_SOLE_TOLERANCE = 0.01  # [m], points this close to the lowest of a foot body belong to its sole


@dataclass(frozen=True, slots=True)
class JointBudget:
    """Caps on joint motion that a reference must keep."""

    max_velocity: float = 20.0
    """Largest joint speed [rad/s]."""
    max_acceleration: float = 300.0
    """Largest joint acceleration [rad/s²]."""

    def __post_init__(self) -> None:
        """Both caps are positive."""
        if not (self.max_velocity > 0 and self.max_acceleration > 0):
            raise ConfigError(f"joint budgets must be positive, found {self}")


@dataclass(frozen=True, slots=True)
class Landmark:
    """A robot body that stands for a joint of the human."""

    human: str
    """Joint of :data:`motionkit.clip.SMPLH_JOINTS`."""
    body: str
    """Robot body, whose origin is the landmark."""
    position_weight: float
    """Relative weight of its position."""
    rotation_weight: float
    """Relative weight of its orientation."""
    mount: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Orientation (wxyz) of the body when the robot stands in the T-pose facing +X."""


@dataclass(frozen=True, slots=True)
class Foot:
    """The two bodies of a foot that meet the ground."""

    heel: str
    """Body that pairs with the human ankle."""
    toe: str
    """Body that pairs with the human toe base; the same as ``heel`` for a one-piece foot."""


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
            qpos[7 + self.joint_index(joint)] = _number(value, f"{self.name}: [tpose] {joint}")
        qpos[3:7] = rotation.conjugate(_facing(self))
        return qpos

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


def _number(value: Any, where: str, low: float = -np.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < np.inf:
        least = "" if low == -np.inf else f" of at least {low:g}"
        raise ConfigError(f"found {value!r}, expected a finite number{least}", where=where)
    return float(value)


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
        ConfigError: the profile is incomplete or names what the model lacks.
    """
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
    profile = _parse_profile(where, profile_text)
    body_names = tuple(model.body(i).name or f"body{i}" for i in body_ids)
    joint_names = tuple(model.joint(i).name or f"joint{i}" for i in joint_ids)
    budget = JointBudget(**{
        key: _number(value, f"{where}: [budget] {key}")
        for key, value in profile.get("budget", {}).items()
    })  # fmt: skip
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
        feet=_read_feet(where, profile, body_names),
        surface=collision_surface(model, body_ids),
        budget=budget,
        profile=profile,
        model=model,
    )
    return replace(partial, landmarks=_read_landmarks(partial))


def _parse_profile(where: str, text: bytes) -> dict[str, Any]:
    try:
        profile = tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the profile is not valid TOML: {error}", where=where) from None
    if profile.get("schema") != _PROFILE_SCHEMA:
        raise ConfigError(
            f"the profile has schema {profile.get('schema')!r}, expected {_PROFILE_SCHEMA}",
            where=where,
            help=f"write schema = {_PROFILE_SCHEMA} at the top of the profile",
        )
    missing = [key for key in ("name", "landmarks", "feet") if key not in profile]
    if missing:
        raise ConfigError(f"the profile lacks {', '.join(missing)}", where=where,
                          help="docs/robots.md lists the tables of a profile")  # fmt: skip
    for key in ("landmarks", "feet", "budget", "tpose"):
        if not isinstance(profile.get(key, {}), dict):
            raise ConfigError(f"[{key}] is no table", where=where,
                              help="docs/robots.md lists the tables of a profile")  # fmt: skip
    unknown = set(profile.get("budget", {})) - {"max_velocity", "max_acceleration"}
    if unknown:
        raise ConfigError(f"unknown key in [budget]: {', '.join(sorted(unknown))}", where=where,
                          help="the keys are max_velocity and max_acceleration")  # fmt: skip
    return profile


def _read_feet(where: str, profile: dict[str, Any], bodies: tuple[str, ...]) -> tuple[Foot, Foot]:
    feet = []
    for side in ("left", "right"):
        table = profile["feet"].get(side)
        if not isinstance(table, dict) or "heel" not in table:
            raise ConfigError(f"the profile lacks [feet.{side}] with the key heel", where=where)
        heel, toe = str(table["heel"]), str(table.get("toe", table["heel"]))
        for body in (heel, toe):
            _index(bodies, body, "body", f"{where}: [feet.{side}]")
        feet.append(Foot(heel, toe))
    return feet[0], feet[1]


def _read_landmarks(robot: Robot) -> tuple[Landmark, ...]:
    """Landmarks of the profile; mounts from the pose in its ``[tpose]`` table (default: rest)."""
    _, quat = robot.forward(robot.tpose_qpos()[None])
    landmarks = []
    for body, table in robot.profile["landmarks"].items():
        index = robot.body_index(body)
        human = table.get("human") if isinstance(table, dict) else table
        if human not in SMPLH_JOINTS:
            raise ConfigError(f"landmark {body} pairs with {human!r}", where=robot.name,
                              help=f"human is one of: {', '.join(SMPLH_JOINTS)}")  # fmt: skip
        weights = [
            _number(table.get(key, 1.0), f"{robot.name}: [landmarks.{body}] {key}", low=0.0)
            for key in ("position_weight", "rotation_weight")
        ]
        w, x, y, z = (float(v) for v in quat[0, index])
        landmarks.append(Landmark(human, body, *weights, mount=(w, x, y, z)))
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


def _facing(robot: Robot) -> Float[Array, "4"]:
    """Rotation from the T-pose facing +X to the robot's own rest heading."""
    headings = {"+x": 0.0, "+y": 0.5 * np.pi, "-x": np.pi, "-y": -0.5 * np.pi}
    forward = str(robot.profile.get("forward", "+x"))
    if forward not in headings:
        raise ConfigError(f"forward is {forward!r}", where=robot.name,
                          help=f"it is one of: {', '.join(headings)}")  # fmt: skip
    return rotation.from_axis_angle("Z", np.asarray(headings[forward]))
