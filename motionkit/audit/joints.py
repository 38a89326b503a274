"""How joints and root move: limits, budgets, jumps, stillness, and how well targets are met."""

from typing import Any

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.audit.findings import Finding
from motionkit.audit.motion import Checked, Motion, worst
from motionkit.clip import differentiate, runs

Array = np.ndarray

_JUMP = np.pi  # [rad] between two frames
_UNCHANGED = 1e-7  # [rad or m]: below it two float32 poses are one
_X_AXIS = np.array([1.0, 0.0, 0.0])
_LEVEL = 0.5  # level part of the facing below which someone lies or bends too far to face anywhere
_FULL_WEIGHT = 1.0  # of a landmark that must be met
_ONSET = 0.9  # share of a budget at which its penalty begins, where the cache does not say
_NEAR_ONSET = 0.995  # share of the onset at which the penalty has something to do with it


def check_limits(motion: Motion) -> Checked:
    """MK201: joint ranges, compared exactly on the stored values, without tolerance."""
    low, high = motion.robot.joint_range.T
    outside = np.maximum(low - motion.joints, motion.joints - high)
    at_limit = np.mean((motion.joints == low) | (motion.joints == high)) if outside.size else 0.0
    figures = {"outside": int(np.sum(outside > 0)), "share_at_limit": float(at_limit)}
    if not figures["outside"]:
        return {"limits": figures}, []
    frame, joint = worst(outside)
    name = motion.robot.joint_names[joint]
    value = float(motion.joints[frame, joint])
    limit = float(low[joint] if value < low[joint] else high[joint])
    joints = int(np.sum(np.any(outside > 0, axis=0)))
    unit = "m" if motion.robot.tree.is_slide[joint] else "rad"
    return {"limits": figures}, [motion.finding(
        "MK201", f"{name} is at {value:.6g} {unit} at frame {frame}, {outside.max():.2g} beyond "
        f"{limit:.6g}{_more(joints)}", where=name, frame=frame, value=value, limit=limit,
        unit=unit)]  # fmt: skip


def check_rates(motion: Motion) -> Checked:
    """MK202, MK203, MK204, MK216: jumps over π, speed, acceleration; jerk as a figure.

    Speed is ``(q[t+1] - q[t]) fps`` and acceleration ``(q[t+1] - 2 q[t] + q[t-1]) fps²``, in
    float64 from the stored float32. Rounding to float32 moves an acceleration by up to four units
    in the last place of q times fps², a speed by two times fps: where that is more than the
    tolerance of the budget, it is the tolerance. What a jump explains is reported as the jump.
    """
    robot, fps, q = motion.robot, motion.fps, motion.joints
    if motion.num_frames < 2 or q.shape[1] == 0:
        return {}, []
    step = np.diff(q, axis=0)
    jumped = (np.abs(step) > _JUMP) & ~np.array(robot.tree.is_slide)
    ulp = np.spacing(np.abs(q).max(axis=0).astype(np.float32)).astype(np.float64)
    figures: dict[str, Any] = {"jumps": int(jumped.sum())}
    found = []
    if jumped.any():
        frame, joint = worst(np.where(jumped, np.abs(step), 0.0))
        name = robot.joint_names[joint]
        found.append(motion.finding(
            "MK202", f"{name} turns by {step[frame, joint]:.4g} rad between frames {frame} and "
            f"{frame + 1}{_more(int(jumped.any(axis=0).sum()))}", where=name, frame=frame,
            value=float(abs(step[frame, joint])), limit=_JUMP, unit="rad"))  # fmt: skip
    speed = step * fps
    budget, source = _budget(motion, "velocity")
    figures["velocity"], late = _held(motion, "MK203", "velocity", speed, jumped, budget,
                                      2.0 * ulp * fps / budget, source)  # fmt: skip
    found += late
    acceleration = np.diff(speed, axis=0) * fps
    if len(acceleration):
        budget, source = _budget(motion, "acceleration")
        figures["acceleration"], late = _held(
            motion, "MK204", "acceleration", acceleration, jumped[1:] | jumped[:-1], budget,
            4.0 * ulp * fps**2 / budget, source)  # fmt: skip
        found += late
    jerk = np.diff(acceleration, axis=0) * fps
    if len(jerk):
        figures["jerk"] = _peak(motion, np.abs(jerk))
    return figures, found


def _budget(motion: Motion, what: str) -> tuple[float, str]:
    """The cap on speed or acceleration and who set it: the audit, the cache, or the robot."""
    if (own := getattr(motion.config, f"max_{what}")) is not None:
        return float(own), "the audit"
    stored = motion.reference.identity.settings.get("retarget", {}).get(f"max_joint_{what}")
    if stored is not None:
        return float(stored), "the cache"
    return float(getattr(motion.robot.budget, f"max_{what}")), "the robot"


def _peak(motion: Motion, size: Float[Array, "S n"]) -> dict[str, Any]:
    frame, joint = worst(size)
    return {"peak": float(size.max()), "p99": float(np.percentile(size, 99.0)),
            "joint": motion.robot.joint_names[joint], "frame": frame}  # fmt: skip


def _held(
    motion: Motion,
    code: str,
    what: str,
    rate: Float[Array, "S n"],
    excused: Array,
    budget: float,
    rounding: Float[Array, "n"],
    source: str,
) -> tuple[dict[str, Any], list[Finding]]:
    """Figures of a rate; a finding if it exceeds its budget by more than rounding, or nears it."""
    size = np.abs(rate)
    share = np.where(excused, 0.0, size / budget)
    limited = share >= _limited_share(motion)
    tolerance = np.maximum(motion.config.budget_tolerance, rounding)
    figures = {**_peak(motion, size), "budget": budget, "budget_of": source,
               "tolerance": float(tolerance.max()),
               "limited_frames": int(limited.any(axis=1).sum())}  # fmt: skip
    excess = share / (1.0 + tolerance)
    if excess.max() <= 1.0:
        return figures, _limited(motion, what, share, limited, budget)
    frame, joint = worst(excess)
    name, value = motion.robot.joint_names[joint], float(size[frame, joint])
    unit = _unit(motion, joint, what)
    is_allowed = what in motion.reference.report.get("budget_exceeded", ())
    joints = int(np.sum(np.any(excess > 1.0, axis=0)))
    return figures, [motion.finding(
        code, f"{name} reaches {value:.4g} {unit} at frame {frame}, budget {budget:g} of {source} "
        f"(tolerance {tolerance[joint]:.1e}){_more(joints)}", where=name, frame=frame,
        value=value, limit=budget, unit=unit,
        severity="warning" if is_allowed else "error")]  # fmt: skip


def _unit(motion: Motion, joint: int, what: str) -> str:
    length = "m" if motion.robot.tree.is_slide[joint] else "rad"
    return length + ("/s" if what == "velocity" else "/s²")


def _limited_share(motion: Motion) -> float:
    """Share of a budget from which its penalty held the motion back."""
    if motion.config.limited_share is not None:
        return motion.config.limited_share
    onset = motion.reference.identity.settings.get("retarget", {}).get("budget_onset", _ONSET)
    return _NEAR_ONSET * float(onset)


def _limited(
    motion: Motion, what: str, share: Float[Array, "S n"], limited: Array, budget: float
) -> list[Finding]:
    """MK216: where a rate that keeps its budget was held back to keep it."""
    if not limited.any():
        return []
    frame, joint = worst(share)
    name, unit = motion.robot.joint_names[joint], _unit(motion, joint, what)
    value, frames = float(share[frame, joint] * budget), int(limited.any(axis=1).sum())
    return [motion.finding(
        "MK216", f"{what} of {name} reaches {value:.4g} {unit} at frame {frame}, "
        f"{100 * share[frame, joint]:.0f}% of its budget; {frames} "
        f"{'frame' if frames == 1 else 'frames'} held back"
        f"{_more(int(limited.any(axis=0).sum()))}", where=name, frame=frame, value=value,
        limit=_limited_share(motion) * budget, unit=unit)]  # fmt: skip


def check_root(motion: Motion) -> Checked:
    """MK211, MK212, MK213: height, teleports, upside down."""
    config, pos = motion.config, motion.root_pos
    height = pos[:, 2]
    up = motion.mat[:, 0, 2, 2]
    figures: dict[str, Any] = {
        "root_height": {"min": float(height.min()), "mean": float(height.mean()),
                        "max": float(height.max())},
        "upright": float(np.median(up)),
    }  # fmt: skip
    found = []
    extremes = (
        (int(height.argmin()), config.min_root_height, -1.0),
        (int(height.argmax()), config.max_root_height, 1.0),
    )
    for frame, limit, sign in extremes:
        value = float(height[frame])
        if sign * (value - limit) > 0:
            found.append(motion.finding(
                "MK211", f"the root is at height {value:.3g} m at frame {frame}", where="root",
                frame=frame, value=value, limit=limit, unit="m"))  # fmt: skip
    if np.median(up) < config.min_upright:
        found.append(motion.finding(
            "MK213", f"median cosine between the root's up axis and the world's is "
            f"{np.median(up):.2f}", where="root", value=float(np.median(up)),
            limit=config.min_upright))  # fmt: skip
    if motion.num_frames < 2:
        return figures, found
    backwards, late = _facing(motion)
    figures |= backwards
    found += late
    quat = motion.derived["body_quat_w"][:, 0]
    turn = rotation.to_rotvec(rotation.multiply(quat[1:], rotation.conjugate(quat[:-1])))
    rates = (
        ("root_speed", np.diff(pos, axis=0), "moves at", "m/s", config.max_root_speed),
        ("root_spin", turn, "turns at", "rad/s", config.max_root_spin),
    )
    for key, change, verb, unit, limit in rates:
        speed = np.linalg.norm(change, axis=-1) * motion.fps
        frame, value = int(speed.argmax()), float(speed.max())
        figures[key] = {"peak": value, "frame": frame}
        if value > limit:
            found.append(motion.finding(
                "MK212", f"the root {verb} {value:.3g} {unit} between frames {frame} and "
                f"{frame + 1}", where="root", frame=frame, value=value, limit=limit,
                unit=unit))  # fmt: skip
    return figures, found


def _facing(motion: Motion) -> Checked:
    """MK215: whether the robot looks where it goes, while it goes anywhere."""
    config = motion.config
    # In the T-pose the robot faces +X: what its root calls forward follows from that pose.
    ahead = rotation.rotate(rotation.conjugate(motion.robot.tpose_qpos()[3:7]), _X_AXIS)
    facing = (motion.mat[:, 0] @ ahead)[:, :2]
    travel = differentiate(motion.root_pos, motion.fps)[:, :2]
    speed, length = np.linalg.norm(travel, axis=-1), np.linalg.norm(facing, axis=-1)
    counts = (speed > config.min_travel_speed) & (length > _LEVEL)
    path = float(speed[counts].sum()) / motion.fps
    if not counts.any() or path < config.min_travel:
        return {"facing": None}, []
    cosine = np.sum(travel[counts] * facing[counts], axis=-1) / (speed * length)[counts]
    median = float(np.median(cosine))
    if median >= config.min_facing:
        return {"facing": median}, []
    return {"facing": median}, [
        motion.finding(
            "MK215",
            f"median cosine between facing and travel is {median:.2f}, "
            f"over {path:.1f} m of travel in {counts.sum() / motion.fps:.1f} s",
            where="root",
            value=median,
            limit=config.min_facing,
        )
    ]


def check_movement(motion: Motion) -> Checked:
    """MK208, MK209, MK214: a robot that does not move passes every other check.

    Movement is the travel of the landmarks in the frame of the first one (the root's), so that
    a stiff robot that is carried along does not pass for a moving one.
    """
    reference, config = motion.reference, motion.config
    if motion.num_frames < 2:
        return {}, []
    qpos = np.asarray(reference.qpos, dtype=np.float64)
    span = float(np.ptp(motion.joints, axis=0).max()) if motion.joints.size else 0.0
    travel = np.abs(np.diff(motion.joints, axis=0)).sum(axis=0) / reference.seconds
    figures: dict[str, Any] = {
        "joint_travel": float(travel.mean()) if travel.size else 0.0, "joint_span": span,
    }  # fmt: skip
    found = []
    same = np.abs(np.diff(qpos, axis=0)).max(axis=1) <= _UNCHANGED
    longest = max(runs(same), key=lambda run: run[1] - run[0], default=(0, 0))
    seconds = (longest[1] - longest[0]) / motion.fps
    figures["longest_still"] = {"seconds": seconds, "frame": longest[0]}
    is_still = span < config.still_travel
    if seconds > config.max_still and not is_still:
        found.append(motion.finding(
            "MK209", f"nothing changes for {seconds:.2f} s from frame {longest[0]} on",
            frame=longest[0], value=seconds, limit=config.max_still, unit="s"))  # fmt: skip
    wanted = _target_travel(motion)
    if wanted is None:
        if is_still:
            found.append(motion.finding(
                "MK214", f"no joint moves by more than {span:.2g} rad in the whole clip",
                value=span, limit=config.still_travel, unit="rad"))  # fmt: skip
        return {"movement": figures}, found
    own, asked = wanted
    figures["landmark_travel"], figures["target_travel"] = own, asked
    asked_speed = asked / reference.seconds
    if own < config.min_movement * asked and asked_speed > config.still_travel:
        found.append(motion.finding(
            "MK208", f"landmarks travel {own:.3g} m relative to the root, their targets "
            f"{asked:.3g} m", value=own / asked, limit=config.min_movement))  # fmt: skip
    return {"movement": figures}, found


def _target_travel(motion: Motion) -> tuple[float, float] | None:
    """Mean path length of the landmarks and of their targets, in the root's frame [m]."""
    reference = motion.reference
    if reference.target_pos_w is None or reference.target_quat_w is None:
        return None
    if len(reference.target_bodies) < 2 or reference.target_bodies[0] != reference.body_names[0]:
        return None
    index = [motion.robot.body_index(name) for name in reference.target_bodies]
    quat = motion.derived["body_quat_w"]
    asked, turned = reference.target_pos_w, reference.target_quat_w[:, 0]
    sides = (
        (motion.pos[:, index], quat[:, index[0]]),
        (asked.astype(np.float64), turned.astype(np.float64)),
    )
    lengths = []
    for pos, root in sides:
        local = rotation.rotate(rotation.conjugate(root)[:, None], pos[:, 1:] - pos[:, :1])
        lengths.append(float(np.linalg.norm(np.diff(local, axis=0), axis=-1).sum(axis=0).mean()))
    return lengths[0], lengths[1]


def check_landmarks(motion: Motion) -> Checked:
    """MK205 to MK207, MK312: the solver's word, and landmarks against their targets.

    Errors after the solve are measured on the stored arrays where the cache holds the targets;
    those before it, and those without targets, are the solver's word.
    """
    reference, config = motion.reference, motion.config
    report = reference.report
    figures: dict[str, Any] = {
        key: {part: dict(error) for part, error in report.get(key, {}).items()}
        for key in ("position_error", "rotation_error")
    }
    found = []
    outcome = report.get("outcome")
    figures["outcome"] = outcome
    if outcome not in (None, "converged"):
        said = report.get("message") or f"the outcome is {outcome}"
        found.append(motion.finding("MK205", str(said), where=str(outcome)))
    spread = report.get("ground_spread")
    if spread is not None and spread > config.max_ground_spread:
        found.append(motion.finding(
            "MK312", f"the source's feet stand at heights {1000 * spread:.0f} mm apart, on ground "
            "taken for level", value=float(spread), limit=config.max_ground_spread,
            unit="m"))  # fmt: skip
    index = [motion.robot.body_index(name) for name in reference.target_bodies]
    if reference.target_pos_w is not None:
        error = np.linalg.norm(motion.pos[:, index] - reference.target_pos_w, axis=-1)
        found += _far(motion, figures["position_error"], "MK206", error, "position_weight",
                      config.max_position_error, "m")  # fmt: skip
    if reference.target_quat_w is not None:
        turn = rotation.multiply(
            rotation.conjugate(motion.derived["body_quat_w"][:, index]),
            reference.target_quat_w.astype(np.float64),
        )
        angle = 2.0 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0]))
        found += _far(motion, figures["rotation_error"], "MK207", angle, "rotation_weight",
                      config.max_rotation_error, "rad")  # fmt: skip
    return figures, found


def _far(
    motion: Motion,
    figures: dict[str, Any],
    code: str,
    error: Float[Array, "T L"],
    weight: str,
    limit: float,
    unit: str,
) -> list[Finding]:
    """Measured errors into the figures; a finding for the worst landmark of full weight."""
    weights = {mark.body: getattr(mark, weight) for mark in motion.robot.landmarks}
    worst_mean, where, frame = 0.0, "", 0
    for i, body in enumerate(motion.reference.target_bodies):
        column = error[:, i]
        mean = float(column.mean())
        figures[body] = {**figures.get(body, {}), "mean": mean,
                         "p95": float(np.percentile(column, 95.0)),
                         "max": float(column.max())}  # fmt: skip
        if weights.get(body, 0.0) >= _FULL_WEIGHT and mean > worst_mean:
            worst_mean, where, frame = mean, body, int(column.argmax())
    if worst_mean <= limit:
        return []
    return [motion.finding(
        code, f"{where} is {worst_mean:.3g} {unit} from its target on average, most at frame "
        f"{frame} ({figures[where]['max']:.3g} {unit})", where=where, frame=frame,
        value=worst_mean, limit=limit, unit=unit)]  # fmt: skip


def _more(joints: int) -> str:
    """What a message about one joint adds when it is true of several."""
    more = joints - 1
    return f"; {more} more {'joint' if more == 1 else 'joints'} too" if more else ""
