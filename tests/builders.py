"""Inputs that tests are made of: rotations, random robots, clips."""

from pathlib import Path

import numpy as np

from motionkit import rotation
from motionkit.cache import build_reference, identify
from motionkit.clip import Provenance, RobotClip, SkeletonClip
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


GANTRY = """<mujoco><compiler angle="radian" autolimits="true"/><worldbody>
<body name="trunk"><freejoint/><geom name="trunk" type="sphere" size="0.1" mass="10"/>
  <body name="neck" pos="0 0 0.2"><joint name="neck" axis="0 0 1"/>
    <geom type="sphere" size="0.05" pos="0.05 0 0.1" mass="1"/></body>
  <body name="arm" pos="0 0.3 0.1"><joint name="arm" axis="0 1 0" range="-1.5 1.5"/>
    <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03" mass="1"/></body>
  <body name="left" pos="0 0.1 0"><joint name="left_x" type="slide" axis="1 0 0"/>
    <joint name="left_y" type="slide" axis="0 1 0"/><joint name="left_z" type="slide" axis="0 0 1"/>
    <geom type="box" size="0.1 0.04 0.02" pos="0 0 0.02" mass="0.5"/></body>
  <body name="right" pos="0 -0.1 0"><joint name="right_x" type="slide" axis="1 0 0"/>
    <joint name="right_y" type="slide" axis="0 1 0"/>
    <joint name="right_z" type="slide" axis="0 0 1"/>
    <geom type="box" size="0.1 0.04 0.02" pos="0 0 0.02" mass="0.5"/></body>
</body></worldbody></mujoco>"""
"""A biped whose feet hang from slides, so that a test puts them where it wants."""

GANTRY_HEIGHT = 0.8  # [m] of the trunk of a gantry that walks


def gantry(folder: Path) -> Robot:
    """The robot of :data:`GANTRY`; its soles are the origins of ``left`` and ``right``."""
    return load_robot(write_robot(folder, GANTRY, profile("trunk", "left", "right", "gantry")))


def gantry_walk(robot: Robot, frames: int = 121, fps: float = 30.0):
    """A walk without a fault: ``qpos``, ``contact``, ``target_pos_w``, ``target_quat_w``.

    Feet step in turn, half a second each, stand exactly still on the ground meanwhile, and both
    stand in the first and the last half second.
    """
    time = np.arange(frames) / fps
    last = time[-1] - 0.5
    feet, contact = np.zeros((frames, 2, 3)), np.ones((frames, 2))
    feet[:, :, 1] = [0.1, -0.1]
    number = 0
    while 0.5 + 0.5 * (number + 1) <= last + 1e-9:
        phase = np.clip((time - 0.5 - 0.5 * number) / 0.5, 0, 1)
        glide = phase - np.sin(2 * np.pi * phase) / (2 * np.pi)
        foot = number % 2
        feet[:, foot, 0] += glide * (0.1 if number == 0 else 0.2)
        lift = np.sin(np.pi * phase) ** 2
        feet[:, foot, 2] += 0.08 * lift
        contact[:, foot] = np.where(lift > 1e-9, 0.0, contact[:, foot])
        number += 1
    root = np.stack(
        [feet[:, :, 0].mean(axis=1), np.zeros(frames), np.full(frames, GANTRY_HEIGHT)], 1
    )
    turn = np.tile(rotation.IDENTITY, (frames, 1))
    wave = 0.4 * np.sin(4.0 * time)
    hang = feet - root[:, None] - np.array([[0, 0.1, 0], [0, -0.1, 0]])
    qpos = np.concatenate(
        [root, turn, wave[:, None], 0.5 * wave[:, None], hang.reshape(frames, 6)], axis=1
    )
    qpos = qpos.astype(np.float32).astype(np.float64)
    pos, quat = robot.forward(qpos)
    index = [robot.body_index(mark.body) for mark in robot.landmarks]
    return qpos, contact, pos[:, index], quat[:, index]


def gantry_reference(robot: Robot, name: str = "walk", fps: float = 30.0, **changes):
    """The reference of :func:`gantry_walk`; ``qpos=`` and the like take the place of its arrays."""
    qpos, contact, pos, quat = gantry_walk(robot, fps=fps)
    values = {"qpos": qpos, "contact": contact, "target_pos_w": pos, "target_quat_w": quat,
              "report": {"outcome": "converged", "seconds": 1.0},
              "settings": {"human": {}, "retarget": {"max_iterations": 500}},
              "provenance": PROVENANCE} | changes  # fmt: skip
    identity = identify(
        robot, values["provenance"], fps=fps, body="embedded", settings=values["settings"]
    )
    clip = RobotClip(name, robot.name, fps, values["qpos"], values["contact"])
    return build_reference(
        clip, robot, identity=identity, report=values["report"], provenance=values["provenance"],
        target_pos_w=values["target_pos_w"], target_quat_w=values["target_quat_w"],
    )  # fmt: skip
