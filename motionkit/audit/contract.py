"""Whether the arrays are what the data contract says they are, whatever the motion."""

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.audit.findings import Finding, make_finding
from motionkit.audit.motion import Checked, Motion, worst
from motionkit.cache import Reference
from motionkit.robot import Robot

Array = np.ndarray

_RATE_HINT = 0.02  # relative: ratios of velocities closer to one number than this show a rate
_FROM_XYZW = [3, 0, 1, 2]  # columns of wxyz in an array of xyzw


def check_robot(reference: Reference, robot: Robot) -> list[Finding]:
    """MK408: whether the reference is of this robot in this state."""
    wrong = [
        f"{what} is {stored}, the robot's is {own}"
        for what, stored, own in (
            ("robot", reference.robot, robot.name),
            ("joint order", _brief(reference.joint_names, robot.joint_names),
             _brief(robot.joint_names, reference.joint_names)),
            ("body order", _brief(reference.body_names, robot.body_names),
             _brief(robot.body_names, reference.body_names)),
            ("sha256", reference.identity.robot_sha256[:12], robot.sha256[:12]),
        )
        if stored != own
    ]  # fmt: skip
    if not wrong:
        return []
    return [make_finding(reference.name, "MK408", "; ".join(wrong), where="identity")]


def _brief(names: tuple[str, ...], others: tuple[str, ...]) -> str:
    """The first name that differs, with its place; equal for equal orders."""
    if names == others:
        return ""
    pairs = enumerate(zip(names, others, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(len(names), len(others)))
    name = names[place] if place < len(names) else "nothing"
    return f"{name} at {place}"


def check_finite(reference: Reference) -> list[Finding]:
    """MK401: NaN and infinity, one finding an array."""
    found = []
    for name, array in reference.arrays().items():
        bad = ~np.isfinite(array)
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            found.append(make_finding(
                reference.name, "MK401",
                f"{name} is not finite {int(bad.sum())} times, first at index {index}",
                where=name, frame=index[0]))  # fmt: skip
    return found


def check_length(motion: Motion) -> Checked:
    """MK402, MK403: length and rate."""
    config, fps = motion.config, motion.fps
    seconds = motion.reference.seconds
    found = []
    if seconds < config.min_seconds:
        found.append(motion.finding(
            "MK402", f"lasts {seconds:.3g} s ({motion.num_frames} frames)", value=seconds,
            limit=config.min_seconds, unit="s"))  # fmt: skip
    if not config.min_fps <= fps <= config.max_fps:
        limit = config.min_fps if fps < config.min_fps else config.max_fps
        found.append(motion.finding("MK403", f"{fps:g} frames a second", value=fps, limit=limit,
                                    unit="1/s"))  # fmt: skip
    return {"frames": motion.num_frames, "fps": fps, "seconds": seconds}, found


def check_quaternions(motion: Motion) -> Checked:
    """MK406, MK407: length and sign of every stored quaternion."""
    reference, config = motion.reference, motion.config
    columns: dict[str, Float[Array, "T L 4"]] = {
        "qpos[:, 3:7]": np.asarray(reference.qpos[:, None, 3:7])
    }
    for name in ("body_quat_w", "target_quat_w"):
        if name in reference.arrays():
            columns[name] = np.asarray(reference.array(name))
    found, norms, flips = [], 0.0, 0
    for where, quat in columns.items():
        error = np.abs(np.sqrt(np.einsum("tbi,tbi->tb", quat, quat, dtype=np.float64)) - 1.0)
        frame, column = worst(error)
        norms = max(norms, float(error.max()))
        if error.max() > config.max_quat_error:
            found.append(motion.finding(
                "MK406", f"{where} has norm {1 + error.max():.6g} or its like at frame {frame}, "
                f"column {column}", where=where, frame=frame, value=float(error.max()),
                limit=config.max_quat_error))  # fmt: skip
        flipped = np.argwhere(np.einsum("tbi,tbi->tb", quat[1:], quat[:-1]) < 0)
        flips += len(flipped)
        if len(flipped):
            frame = int(flipped[0, 0])
            found.append(motion.finding(
                "MK407", f"{where} changes sign {len(flipped)} times, first after frame {frame}",
                where=where, frame=frame, value=float(len(flipped)), limit=0.0))  # fmt: skip
    return {"quaternions": {"norm_error": norms, "sign_changes": flips}}, found


def check_kinematics(motion: Motion) -> Checked:
    """MK405: stored bodies against kinematics of the stored pose."""
    reference, config = motion.reference, motion.config
    figures: dict[str, float] = {}
    found = []
    if reference.body_pos_w is not None:
        error = np.linalg.norm(reference.body_pos_w - motion.pos, axis=-1)
        figures["position_error"] = float(error.max())
        if error.max() > config.max_kinematics_error:
            frame, body = worst(error)
            found.append(_misplaced(motion, "body_pos_w", frame, body, float(error.max()), "m",
                                    _order_hint(motion, reference.body_pos_w)))  # fmt: skip
    if reference.body_quat_w is not None:
        angle = _angle(reference.body_quat_w, motion.derived["body_quat_w"])
        figures["rotation_error"] = float(angle.max())
        if angle.max() > config.max_kinematics_error:
            frame, body = worst(angle)
            other = _angle(reference.body_quat_w[..., _FROM_XYZW], motion.derived["body_quat_w"])
            hint = "; they fit as xyzw" if other.max() <= config.max_kinematics_error else ""
            found.append(_misplaced(motion, "body_quat_w", frame, body, float(angle.max()), "rad",
                                    hint))  # fmt: skip
    return {"kinematics": figures}, found


def _misplaced(
    motion: Motion, where: str, frame: int, body: int, value: float, unit: str, hint: str
) -> Finding:
    name = motion.robot.body_names[body]
    return motion.finding(
        "MK405", f"{where} of {name} is {value:.4g} {unit} from the kinematics of the stored pose "
        f"at frame {frame}{hint}", where=name, frame=frame, value=value,
        limit=motion.config.max_kinematics_error, unit=unit)  # fmt: skip


def _order_hint(motion: Motion, stored: Float[Array, "T B 3"]) -> str:
    """Says so if the stored bodies are the robot's in another order."""
    first, own = stored[0], motion.pos[0]
    nearest = np.argmin(np.linalg.norm(first[:, None] - own[None], axis=-1), axis=1)
    matched = np.linalg.norm(stored - motion.pos[:, nearest], axis=-1).max()
    is_order = matched <= motion.config.max_kinematics_error
    return "; they fit in another order of the bodies" if is_order else ""


def _angle(a: Float[Array, "*n 4"], b: Float[Array, "*n 4"]) -> Float[Array, "*n"]:
    """Angle between rotations [rad], from the chord: exact near zero, whatever the signs."""
    a = rotation.normalize(np.asarray(a, dtype=np.float64))
    chord = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return 4.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))


def check_velocities(motion: Motion) -> Checked:
    """MK404: stored velocities against differences of the stored pose."""
    reference, limit = motion.reference, motion.config.max_velocity_error
    figures: dict[str, float] = {}
    found = []
    for name in ("qvel", "body_lin_vel_w", "body_ang_vel_w"):
        if name not in reference.arrays() or name not in motion.derived:
            continue
        stored, expected = reference.array(name), motion.derived[name]
        error = np.abs(stored - expected)
        figures[name] = float(error.max())
        if error.max() <= limit:
            continue
        frame, column = worst(error)[:2]
        labels = ("root x", "root y", "root z", "root turn x", "root turn y", "root turn z",
                  *reference.joint_names) if name == "qvel" else reference.body_names  # fmt: skip
        energy = float(np.sum(expected * expected))
        ratio = float(np.sum(stored * expected)) / energy if energy > 0 else 1.0
        residue = np.sqrt(np.mean((stored - ratio * expected) ** 2) * expected.size / energy) \
            if energy > 0 else np.inf  # fmt: skip
        is_scaled = residue < _RATE_HINT and abs(ratio - 1.0) > _RATE_HINT and ratio > 0
        hint = f"; they fit {motion.fps * ratio:.4g} frames a second" if is_scaled else ""
        found.append(motion.finding(
            "MK404", f"{name} of {labels[column]} is {error.max():.4g} from differences of the "
            f"stored pose at frame {frame}{hint}", where=labels[column], frame=frame,
            value=float(error.max()), limit=limit, unit="1/s"))  # fmt: skip
    return {"velocities": figures}, found
