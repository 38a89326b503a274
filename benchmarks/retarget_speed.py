"""Speed and quality of the whole-clip retargeter beside mink, same clip, same robot, same process.

    python benchmarks/retarget_speed.py FILE.bvh [--frames 300 1800 7200] [--json OUT]

mink solves frame by frame (differential inverse kinematics, daqp, warm start, box limits) for the
same 22 landmark targets with the same weights; it knows neither contacts nor budgets. Both run on
one core. A clip shorter than asked for is continued by its own reverse, so that nothing jumps.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import time  # noqa: E402
from dataclasses import replace  # noqa: E402
from importlib.metadata import version  # noqa: E402
from pathlib import Path  # noqa: E402

import mink  # noqa: E402
import numpy as np  # noqa: E402

from motionkit import rotation  # noqa: E402
from motionkit.clip import HumanClip  # noqa: E402
from motionkit.formats import read_clip  # noqa: E402
from motionkit.human import align  # noqa: E402
from motionkit.retarget import RetargetConfig, lm, retarget  # noqa: E402
from motionkit.retarget.targets import Targets, make_targets  # noqa: E402
from motionkit.robot import Robot, load_robot  # noqa: E402

_PRIORITY = ("hand", "foot", "toe", "head")  # parts whose error the issue names
_MINK_ITERATIONS = 10  # at most, a frame
_MINK_STEP = 1e-3  # [rad] largest joint step at which a frame has converged


def of_length(human: HumanClip, frames: int) -> HumanClip:
    """The clip cut, or continued back and forth, to a number of frames."""
    last = human.num_frames - 1
    at = np.abs((np.arange(frames) + last) % max(2 * last, 1) - last)
    return replace(
        human, landmark_pos_w=human.landmark_pos_w[at], landmark_quat_w=human.landmark_quat_w[at]
    )


def solve_mink(robot: Robot, targets: Targets, fps: float) -> tuple[np.ndarray, float]:
    """Joint angles by mink, and the seconds it took."""
    model = robot.model
    configuration = mink.Configuration(model)
    tasks = [
        mink.FrameTask(
            mark.body, "body", position_cost=10 * mark.position_weight,
            orientation_cost=2 * mark.rotation_weight, lm_damping=1e-3,
        )
        for mark in robot.landmarks
    ]  # fmt: skip
    limits = [mink.ConfigurationLimit(model)]
    qpos = np.empty((len(targets.pos_w), model.nq))
    start = robot.rest_qpos()
    start[:3], start[3:7] = targets.pos_w[0, 0], targets.quat_w[0, 0]
    configuration.update(start)
    began = time.perf_counter()
    for t in range(len(qpos)):
        for i, task in enumerate(tasks):
            turn = mink.SO3(targets.quat_w[t, i])
            task.set_target(mink.SE3.from_rotation_and_translation(turn, targets.pos_w[t, i]))
        for _ in range(_MINK_ITERATIONS if t else 100):
            velocity = mink.solve_ik(configuration, tasks, 1 / fps, "daqp", limits=limits)
            configuration.integrate_inplace(velocity, 1 / fps)
            if np.abs(velocity).max() / fps < _MINK_STEP:
                break
        qpos[t] = configuration.q
    return qpos, time.perf_counter() - began


def quality(robot: Robot, targets: Targets, qpos: np.ndarray, fps: float) -> dict[str, float]:
    """Errors, budgets, depth and drift of a motion, by the same measures for everyone."""
    pos, quat = robot.forward(qpos)
    body = [robot.body_index(mark.body) for mark in robot.landmarks]
    error = np.linalg.norm(pos[:, body] - targets.pos_w, axis=-1)
    first = [
        i for i, m in enumerate(robot.landmarks) if any(k in m.body.lower() for k in _PRIORITY)
    ]
    surface = robot.surface
    turn = quat[:, surface.body_index]
    low = (pos[:, surface.body_index] + rotation.rotate(turn, surface.center))[..., 2]
    low = low - surface.radius
    drifts = []
    for k, name in enumerate(robot.contact_bodies):
        center, _ = robot.sole(name)
        i = robot.body_index(name)
        place = pos[:, i] + rotation.rotate(quat[:, i], center.mean(axis=0))
        edges = np.flatnonzero(np.diff(np.r_[False, targets.stands[:, k], False]))
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            drifts.append(np.linalg.norm(place[a:b, :2] - place[a, :2], axis=1).max())
    q = qpos[:, 7:]
    return {
        "position_error_end_mm": 1e3 * float(error[:, first].mean()),
        "position_error_all_mm": 1e3 * float(error.mean()),
        "peak_velocity_rad_s": float(np.abs(np.diff(q, axis=0)).max() * fps),
        "peak_acceleration_rad_s2": float(np.abs(np.diff(q, n=2, axis=0)).max() * fps**2),
        "deepest_mm": -1e3 * float(min(low.min(), 0.0)),
        "drift_mean_mm": 1e3 * float(np.mean(drifts)) if drifts else 0.0,
        "drift_max_mm": 1e3 * float(np.max(drifts)) if drifts else 0.0,
    }


def stages(human: HumanClip, robot: Robot) -> dict[str, float]:
    """Where the time of a solve goes [s]."""
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.runcall(retarget, human, robot)
    out: dict[str, float] = {}
    for (file, _, name), (_, _, own, cumulative, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        place = Path(file).stem
        if (place, name) in {("band", "factor"), ("band", "solve"), ("band", "fill")}:
            out[f"band.{name}"] = own
        elif (place, name) in {
            ("objective", "assemble"), ("temporal", "assemble"), ("seed", "seed"),
            ("targets", "make_targets"), ("solve", "_report"), ("solve", "retarget"),
        }:  # fmt: skip
            out[f"{place}.{name}"] = cumulative
    return {key: round(value, 4) for key, value in sorted(out.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--robot", default="anatomic_soma")
    parser.add_argument("--frames", type=int, nargs="+", default=[300, 1800, 7200])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    robot = load_robot(options.robot)
    whole = align(read_clip(options.file))
    versions = {p: version(p) for p in ("motionkit", "mink", "daqp", "mujoco", "numpy", "scipy")}
    rows = []
    for frames in options.frames:
        human = of_length(whole, frames)
        targets = make_targets(human, robot)
        ours = [retarget(human, robot, RetargetConfig()) for _ in range(options.repeats)]
        best = min(ours, key=lambda result: result.report.seconds)
        qpos, seconds = solve_mink(robot, targets, human.fps)
        row = {
            "frames": frames,
            "outcome": best.report.outcome.name,
            "iterations": best.report.iterations,
            "rejected_steps": best.report.rejected_steps,
            "frames_per_s": frames / best.report.seconds,
            "mink_frames_per_s": frames / seconds,
            "ratio": seconds / best.report.seconds,
            "quality": quality(robot, targets, best.clip.qpos, human.fps),
            "mink_quality": quality(robot, targets, qpos, human.fps),
            "seconds_by_stage": stages(human, robot),
        }
        rows.append(row)
        print(json.dumps(row, indent=1))
    result = {
        "clip": options.file.name, "robot": robot.name, "cores": 1,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores", "versions": versions,
        "solver": lm.__name__, "rows": rows,
    }  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
