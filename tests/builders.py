"""Inputs that tests are made of: rotations, random robots, clips."""

from pathlib import Path

import numpy as np

from motionkit import rotation
from motionkit.clip import Provenance, SkeletonClip
from motionkit.robot import Robot, load_robot

PROVENANCE = Provenance(path="made.bvh", sha256="0" * 64, format="bvh", writer="unknown")


def random_quats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Rotations drawn uniformly, near the identity and near a half turn, in equal parts."""
    axis = rng.normal(size=(*shape, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    uniform = rotation.normalize(rng.normal(size=(*shape, 4)))
    tiny = 10.0 ** rng.uniform(-12, -3, size=(*shape, 1))
    kind = rng.integers(3, size=(*shape, 1))
    quat = np.where(kind == 0, uniform, rotation.from_rotvec(axis * tiny))
    quat = np.where(kind == 2, rotation.from_rotvec(axis * (np.pi - tiny)), quat)
    return quat * rng.choice([-1.0, 1.0], size=(*shape, 1))


def smooth_quats(rng: np.random.Generator, frames: int, *shape: int, speed: float = 0.3):
    """Rotations that turn by about ``speed`` [rad] a frame, with signs at random."""
    steps = rotation.from_rotvec(rng.normal(scale=speed / np.sqrt(3), size=(frames, *shape, 3)))
    quat = [random_quats(rng, *shape)]
    for step in steps[1:]:
        quat.append(rotation.normalize(rotation.multiply(quat[-1], step)))
    return np.stack(quat)


def skeleton_clip(rng: np.random.Generator, frames: int, fps: float = 30.0, **changes):
    """A chain of four joints that move smoothly."""
    time = np.arange(frames) / fps
    wave = np.sin(np.outer(time, rng.uniform(1, 4, size=3)) + rng.uniform(0, 6, size=3))
    values = {
        "name": "made",
        "fps": fps,
        "joint_names": ("hips", "spine", "head", "hand"),
        "parents": (-1, 0, 1, 1),
        "offsets": np.concatenate([np.zeros((1, 3)), rng.normal(scale=0.3, size=(3, 3))]),
        "root_pos_w": wave + np.array([0.0, 0.0, 1.0]),
        "joint_quat": smooth_quats(rng, frames, 4),
        "roles": {"pelvis": "hips"},
        "provenance": PROVENANCE,
        **changes,
    }
    return SkeletonClip(**values)


def random_mjcf(rng: np.random.Generator, bodies: int = 12) -> str:
    """A tree of hinges and slides: any axis, off-centre anchors, turned bodies, ref ≠ 0."""
    children: list[list[int]] = [[] for _ in range(bodies)]
    for b in range(1, bodies):
        children[int(rng.integers(max(0, b - 4), b))].append(b)

    def numbers(values) -> str:
        return " ".join(repr(float(v)) for v in values)

    def joint(b: int, j: int) -> str:
        axis = rng.normal(size=3)
        if rng.random() < 0.5:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        kind = rng.choice(["hinge", "hinge", "slide"])
        anchor = rng.normal(scale=0.2, size=3) if rng.random() < 0.5 else np.zeros(3)
        ref = float(rng.normal(scale=0.5)) if rng.random() < 0.5 else 0.0
        low, high = (float(v) for v in np.sort(rng.uniform(-2, 2, size=2)))
        return (
            f'<joint name="j{b}_{j}" type="{kind}" axis="{numbers(axis)}" pos="{numbers(anchor)}"'
            f' ref="{ref!r}" range="{low!r} {high + 0.1!r}"/>'
        )

    def body(b: int) -> str:
        turn = f'quat="{numbers(random_quats(rng))}"' if rng.random() < 0.5 else ""
        joints = "<freejoint/>" if b == 0 else "".join(
            joint(b, j) for j in range(int(rng.integers(0, 4)))
        )  # fmt: skip
        inner = "".join(body(child) for child in children[b])
        return (
            f'<body name="b{b}" pos="{numbers(rng.normal(scale=0.3, size=3))}" {turn}>{joints}'
            f'<geom size="0.05" pos="{numbers(rng.normal(scale=0.1, size=3))}"/>{inner}</body>'
        )

    return (
        '<mujoco><compiler angle="radian" autolimits="true"/>'
        f"<worldbody>{body(0)}</worldbody></mujoco>"
    )


def profile(root: str, left: str, right: str, name: str = "made") -> str:
    """The smallest profile that loads: a pelvis and two feet of one piece."""
    marks = {root: "pelvis", left: "left_ankle", right: "right_ankle"}
    return "\n".join([
        "schema = 1", f'name = "{name}"',
        *(f'[landmarks.{body}]\nhuman = "{human}"' for body, human in marks.items()),
        f'[feet.left]\nheel = "{left}"', f'[feet.right]\nheel = "{right}"',
    ])  # fmt: skip


def write_robot(folder: Path, mjcf: str, profile_text: str) -> Path:
    """Both files of a robot; the path of its model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "made.toml").write_text(profile_text)
    path = folder / "made.xml"
    path.write_text(mjcf)
    return path


def random_robot(rng: np.random.Generator, folder: Path, bodies: int = 12) -> Robot:
    """A robot of :func:`random_mjcf`."""
    text = profile("b0", f"b{bodies - 2}", f"b{bodies - 1}")
    return load_robot(write_robot(folder, random_mjcf(rng, bodies), text))


def random_qpos(rng: np.random.Generator, robot: Robot, frames: int, far: float = 1.0):
    """Poses whose root lies within about ``far`` [m] of the origin."""
    return np.concatenate(
        [
            rng.normal(scale=far, size=(frames, 3)),
            random_quats(rng, frames),
            rng.uniform(-3, 3, size=(frames, robot.num_joints)),
        ],
        axis=1,
    )
