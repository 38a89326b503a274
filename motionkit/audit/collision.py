"""The robot against itself, by MuJoCo's own collision detection."""

from typing import Any

import numpy as np

from motionkit.audit.motion import Checked, Motion


def check_self_collision(motion: Motion) -> Checked:
    """MK210: pairs of bodies that overlap, on a few poses a second.

    What the model itself excludes (neighbours, ``contype``) is not looked at. Costs some 0.1 ms a
    pose.
    """
    import mujoco

    config, robot = motion.config, motion.robot
    if config.self_collision_rate == 0:
        return {}, []
    model = robot.model
    data = mujoco.MjData(model)
    root = int(model.jnt_bodyid[0])
    step = max(1, round(motion.fps / config.self_collision_rate))
    frames = range(0, motion.num_frames, step)
    qpos = np.asarray(motion.reference.qpos, dtype=np.float64)
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    colliding = 0
    for frame in frames:
        data.qpos[: qpos.shape[1]] = qpos[frame]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        hits = 0
        for index in np.flatnonzero(data.contact.dist < -config.max_self_collision):
            bodies = model.geom_bodyid[data.contact.geom[index]]
            if not np.all(model.body_rootid[bodies] == root):
                continue
            first, second = sorted(model.body(int(b)).name or f"body{b}" for b in bodies)
            depth, hits = -float(data.contact.dist[index]), hits + 1
            pair = pairs.setdefault((first, second), {"depth": 0.0, "frame": frame, "poses": 0})
            pair["poses"] += 1
            if depth > pair["depth"]:
                pair |= {"depth": depth, "frame": frame}
        colliding += hits > 0
    ranked = sorted(pairs.items(), key=lambda item: (-item[1]["depth"], item[0]))
    figures = {"self_collision": {
        "poses": len(frames), "share": colliding / len(frames),
        "pairs": [{"bodies": list(names), **pair} for names, pair in ranked],
    }}  # fmt: skip
    if not ranked:
        return figures, []
    (first, second), deepest = ranked[0]
    more = f"; {len(ranked) - 1} more pairs too" if len(ranked) > 1 else ""
    return figures, [motion.finding(
        "MK210", f"{first} and {second} overlap by {1000 * deepest['depth']:.1f} mm at frame "
        f"{deepest['frame']}{more}", where=f"{first}, {second}", frame=deepest["frame"],
        value=deepest["depth"], limit=config.max_self_collision, unit="m")]  # fmt: skip
