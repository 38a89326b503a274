"""The robot against the level ground at z = 0: depth, contacts, sliding, floating, balance.

The ground is touched by the lowest point of the collision geometry. For a foot body ``k`` the sole
is the set of points that carry it standing (``Robot.sole``): its height is that of the lowest of
them, its sliding the speed of the material point that is lowest, its place their mean.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from motionkit.audit.findings import Finding
from motionkit.audit.motion import Checked, Motion, worst
from motionkit.clip import runs

Array = np.ndarray

_DEPTHS = (0.001, 0.005, 0.010)  # [m], for the share of time deeper than each
_DIRECTIONS = 32  # of the support polygon: distances from it are exact to half a percent


@dataclass(frozen=True, slots=True)
class Soles:
    """The soles of the contact bodies of a reference."""

    bodies: tuple[str, ...]
    """Columns."""
    height: Float[Array, "T K"]
    """Of the lowest point over the ground [m]."""
    place: Float[Array, "T K 2"]
    """Mean of the sole's points, level [m]."""
    speed: Float[Array, "S K"]
    """Level speed of the lowest point from each frame to the next [m/s]."""


def measure_soles(motion: Motion, bodies: tuple[str, ...]) -> Soles:
    """Heights, places and speeds of the soles of the bodies."""
    heights, places, speeds = [], [], []
    for name in bodies:
        center, radius = motion.robot.sole(name)
        points = motion.points(motion.robot.body_index(name), center)
        bottom = points[..., 2] - radius
        lowest = bottom.argmin(axis=1)
        frames = np.arange(motion.num_frames)
        step = points[frames[1:], lowest[:-1], :2] - points[frames[:-1], lowest[:-1], :2]
        heights.append(bottom[frames, lowest])
        places.append(points[..., :2].mean(axis=1))
        speeds.append(np.linalg.norm(step, axis=-1) * motion.fps)
    return Soles(bodies, np.stack(heights, 1), np.stack(places, 1), np.stack(speeds, 1))


def check_ground(motion: Motion) -> Checked:
    """MK301, MK308, MK309, MK311: depth of the whole robot, and whether it stands on the ground."""
    config, surface = motion.config, motion.robot.surface
    if not len(surface.radius):
        return {}, []
    bottom = motion.surface_height
    lowest = bottom.min(axis=1)
    frame, point = worst(-bottom)
    body = motion.robot.body_names[int(surface.body_index[point])]
    depth = max(0.0, -float(bottom[frame, point]))
    figures: dict[str, Any] = {"penetration": {
        "deepest": depth, "body": body if depth > 0 else None,
        "frame": frame if depth > 0 else None,
        **{f"share_over_{1000 * d:.0f}mm": float(np.mean(lowest < -d)) for d in _DEPTHS},
    }}  # fmt: skip
    found = []
    if depth > config.max_penetration:
        share = float(np.mean(lowest < -config.max_penetration))
        found.append(motion.finding(
            "MK301", f"{body} is {1000 * depth:.1f} mm below the ground at frame {frame}, "
            f"{100 * share:.1f}% of frames are too deep", where=body, frame=frame, value=depth,
            limit=config.max_penetration, unit="m"))  # fmt: skip
    ends = (("starts", 0), ("ends", motion.num_frames - 1))
    figures["lowest_point"] = {"start": float(lowest[0]), "end": float(lowest[-1]),
                               "min": float(lowest.min())}  # fmt: skip
    if lowest.min() > config.max_airborne_height:
        frame = int(lowest.argmin())
        found.append(motion.finding(
            "MK309", f"the lowest point of the clip is {lowest.min():.3g} m over the ground",
            frame=frame, value=float(lowest.min()), limit=config.max_airborne_height,
            unit="m"))  # fmt: skip
        return figures, found
    aloft = float(np.mean(lowest > config.max_hover_height))
    figures["lowest_point"]["share_hovering"] = aloft
    if aloft > config.max_hovering:
        found.append(motion.finding(
            "MK311", f"in {100 * aloft:.0f}% of the frames nothing is within "
            f"{1000 * config.max_hover_height:.0f} mm of the ground", value=aloft,
            limit=config.max_hovering))  # fmt: skip
    for verb, frame in ends:
        if lowest[frame] > config.max_airborne_height:
            found.append(motion.finding(
                "MK308", f"the clip {verb} with its lowest point {lowest[frame]:.3g} m over the "
                "ground", frame=frame, value=float(lowest[frame]),
                limit=config.max_airborne_height, unit="m"))  # fmt: skip
    return figures, found


def check_contacts(motion: Motion) -> Checked:
    """MK302 to MK307: what the stored contacts say, against where the soles are."""
    config, reference = motion.config, motion.reference
    if reference.contact is None or not reference.contact_bodies:
        return {}, [motion.finding("MK305", "the cache holds no contacts", where="contact")]
    contact = np.asarray(reference.contact, dtype=np.float64)
    outside = np.maximum(-contact, contact - 1.0)
    if outside.max() > 0:
        frame, column = worst(outside)
        name = reference.contact_bodies[column]
        return {}, [motion.finding(
            "MK307", f"contact of {name} is {contact[frame, column]:g} at frame {frame}",
            where=name, frame=frame, value=float(contact[frame, column]), limit=1.0)]  # fmt: skip
    stands = contact >= config.contact_threshold
    soles = measure_soles(motion, reference.contact_bodies)
    touches = _touches(motion, soles)
    agree = 2 * int(np.sum(stands & touches))
    total = int(stands.sum()) + int(touches.sum())
    figures: dict[str, Any] = {"contact": {
        "share": dict(zip(soles.bodies, stands.mean(axis=0).tolist(), strict=True)),
        "f1": agree / total if total else None,
    }}  # fmt: skip
    if not stands.any():
        return figures, _missed(motion, soles, touches)
    found = []
    for check in (_check_sliding, _check_drift, _check_floating):
        more, late = check(motion, soles, stands)
        figures |= more
        found += late
    return figures, found


def _touches(motion: Motion, soles: Soles) -> Bool[Array, "T K"]:
    """Soles that are on the ground and do not skate, from kinematics alone."""
    is_low = soles.height <= motion.config.max_float_height
    if motion.num_frames < 2:
        return is_low
    speed = np.concatenate([soles.speed, soles.speed[-1:]])
    return is_low & (speed <= motion.config.fast_slide)


def _missed(motion: Motion, soles: Soles, touches: Bool[Array, "T K"]) -> list[Finding]:
    """MK306, if a sole stands long enough while no contact is ever stored."""
    spans = [(stop - start, start, k) for k in range(touches.shape[1])
             for start, stop in runs(touches[:, k])]  # fmt: skip
    frames, start, k = max(spans, default=(0, 0, 0))
    seconds = frames / motion.fps
    if seconds <= motion.config.max_missed_contact:
        return []
    name = soles.bodies[k]
    return [motion.finding(
        "MK306", f"no contact is ever stored, but {name} stands for {seconds:.2f} s from frame "
        f"{start} on", where=name, frame=start, value=seconds,
        limit=motion.config.max_missed_contact, unit="s")]  # fmt: skip


def _check_sliding(motion: Motion, soles: Soles, stands: Bool[Array, "T K"]) -> Checked:
    """MK302. Between two frames in contact."""
    config = motion.config
    held = stands[1:] & stands[:-1]
    if not held.any():
        return {}, []
    speed = np.where(held, soles.speed, 0.0)
    inside = soles.speed[held]
    frame, k = worst(speed)
    share = float(np.mean(inside > config.fast_slide))
    figures = {"skating": {
        "mean_speed": float(inside.mean()), "max_speed": float(inside.max()),
        "body": soles.bodies[k], "frame": frame,
        "share_slow": float(np.mean(inside > config.slow_slide)), "share_fast": share,
    }}  # fmt: skip
    if share <= config.max_skating:
        return figures, []
    return figures, [motion.finding(
        "MK302", f"soles slide faster than {config.fast_slide:g} m/s in {100 * share:.1f}% of "
        f"contact time, {soles.bodies[k]} with {inside.max():.3g} m/s at frame {frame}",
        where=soles.bodies[k], frame=frame, value=share, limit=config.max_skating)]  # fmt: skip


def _check_drift(motion: Motion, soles: Soles, stands: Bool[Array, "T K"]) -> Checked:
    """MK303. The farthest that a sole's place gets from where it was at touchdown."""
    stances = []
    for k, name in enumerate(soles.bodies):
        for start, stop in runs(stands[:, k]):
            path = soles.place[start:stop, k]
            away = np.linalg.norm(path - path[0], axis=-1)
            stances.append({"body": name, "start": start, "stop": stop,
                            "drift": float(away.max())})  # fmt: skip
    far = max(stances, key=lambda stance: stance["drift"])
    figures = {"drift": {"mean": float(np.mean([s["drift"] for s in stances])),
                         "max": far["drift"], "stances": stances}}  # fmt: skip
    if far["drift"] <= motion.config.max_drift:
        return figures, []
    return figures, [motion.finding(
        "MK303", f"{far['body']} drifts by {1000 * far['drift']:.0f} mm in the stance of frames "
        f"{far['start']}:{far['stop']}", where=far["body"], frame=far["start"],
        value=far["drift"], limit=motion.config.max_drift, unit="m")]  # fmt: skip


def _check_floating(motion: Motion, soles: Soles, stands: Bool[Array, "T K"]) -> Checked:
    """MK304."""
    config = motion.config
    height = np.where(stands, soles.height, -np.inf)
    frame, k = worst(height)
    share = float(np.mean(soles.height[stands] > config.max_float_height))
    figures = {"floating": {"share": share, "highest": float(height.max()),
                            "body": soles.bodies[k], "frame": frame}}  # fmt: skip
    if share <= config.max_floating:
        return figures, []
    return figures, [motion.finding(
        "MK304", f"soles are over {1000 * config.max_float_height:.0f} mm above the ground in "
        f"{100 * share:.1f}% of contact time, {soles.bodies[k]} by {1000 * height.max():.0f} mm "
        f"at frame {frame}", where=soles.bodies[k], frame=frame, value=share,
        limit=config.max_floating)]  # fmt: skip


def check_balance(motion: Motion) -> Checked:
    """MK310: the centre of mass against the polygon of all points that touch the ground.

    The signed distance from the polygon is the largest over directions ``d`` of
    ``d·c - max_p d·p``. Only a robot that hardly moves must be in balance.
    """
    config, robot = motion.config, motion.robot
    if motion.num_frames < 2 or not len(robot.surface.radius):
        return {}, []
    center = _center_of_mass(motion)
    touching = motion.surface_height <= config.max_float_height
    angle = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
    directions = np.stack([np.cos(angle), np.sin(angle)])
    used, supported = touching.any(axis=0), touching.any(axis=1)
    if not supported.any():
        return {}, []
    along = motion.surface_place[:, used] @ directions  # points that never touch need none
    reach = np.where(touching[:, used, None], along, -np.inf).max(axis=1)
    outside = np.max(center[:, :2] @ directions - reach, axis=1)
    speed = np.linalg.norm(np.gradient(center, axis=0), axis=-1) * motion.fps
    falls = supported & (speed < config.balance_speed) & (outside > config.balance_margin)
    start, stop = max(runs(falls), key=lambda run: run[1] - run[0], default=(0, 0))
    seconds = (stop - start) / motion.fps
    figures = {"balance": {
        "share_outside": float(np.mean(outside[supported] > 0)),
        "longest_unsupported": seconds, "frame": start if stop > start else None,
    }}  # fmt: skip
    if seconds <= config.max_unsupported:
        return figures, []
    return figures, [motion.finding(
        "MK310", f"the centre of mass is up to {outside[start:stop].max():.2f} m outside the "
        f"support for {seconds:.2f} s from frame {start} on, almost still", frame=start,
        value=seconds, limit=config.max_unsupported, unit="s")]  # fmt: skip


def _center_of_mass(motion: Motion) -> Float[Array, "T 3"]:
    robot = motion.robot
    bodies = np.flatnonzero(robot.model.body_rootid == robot.model.jnt_bodyid[0])
    share = robot.body_mass / robot.body_mass.sum()
    arm = np.einsum("tbij,bj->tbi", motion.mat, robot.model.body_ipos[bodies])
    return np.einsum("b,tbi->ti", share, motion.pos + arm)
