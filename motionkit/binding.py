"""A robot's motion file held against the robot's model.

Joints are put into the model's order by name. What names do not settle, kinematics does: for each
candidate order of joints the model's own bodies are computed and held against those that the file
stores, ``x_b(q)`` against ``body_pos_w`` and ``R_b(q)`` against ``body_quat_w``. Only the right
order makes all of them coincide, since a body's orientation is the product of the joints above it.
Candidates are MuJoCo's order (depth first) and PhysX's (breadth first). A body is matched by name,
or else with the model's body that it follows most closely.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from motionkit import rotation
from motionkit.clip import Note, RobotClip, RobotMotion
from motionkit.errors import InputError
from motionkit.kinematics import Tree
from motionkit.robot import Robot

Array = np.ndarray

FIT_ANGLE = 0.02
"""Mean error of a body's orientation [rad] up to which an order fits: float32 and rounding."""
FIT_DISTANCE = 0.03
"""The same of its position [m]: revisions of the G1 differ by 1 cm in the waist."""
RANGE_SLACK = 0.1
"""Excess over a joint's range [rad or m] up to which another revision explains it, with a note."""
ROUNDING = 1e-3
"""The same that digits explain; nothing is said."""
ALONE_RATIO = 4.0
"""How many times worse another order must fit for the best one to be settled."""
MAX_FRAMES = 60
"""Frames, evenly spread, in which orders are compared."""
FLOOR_FRAMES = 400
"""Frames, evenly spread, from which the floor is taken."""
FLOOR_PERCENTILE = 2.0
"""Of the lowest points over frames: where the robot stands."""
FLOOR_TOLERANCE = 0.05
"""Distance of the floor from zero [m] from which a note is made."""
_LISTED = 8  # names in a message


@dataclass(frozen=True, slots=True)
class _Fit:
    """How an order of joints agrees with the stored bodies."""

    order: str
    """For people."""
    columns: Int[Array, "n"]
    """Column of the file for each joint of the model."""
    angle: float
    """Error of orientation, mean over frames, of the worst body [rad]; infinite without bodies."""
    distance: float
    """The same of position [m]; NaN where no positions are stored."""
    stored: Int[Array, "B"]
    """Row of the file for each body of the model; -1 where none is matched."""

    @property
    def is_good(self) -> bool:
        """Whether the bodies coincide."""
        return self.angle <= FIT_ANGLE and not self.distance > FIT_DISTANCE


def bind(motion: RobotMotion, robot: Robot) -> tuple[RobotClip, list[Note]]:
    """The motion as one of this robot, and notes on how it was held against the model.

    Root and joint angles are the file's own, put into the model's order.

    Raises:
        InputError: joints are missing or extra; the order of joints without names is not settled;
            stored bodies are not where the model puts them; an angle is far beyond its range.
    """
    fits = _fits(motion, robot)
    fit, notes = _choose(motion, robot, fits)
    angles = motion.joint_pos[:, fit.columns]
    qpos = np.concatenate([motion.root_pos_w, motion.root_quat, angles], axis=1)
    notes += _check_ranges(motion, robot, angles)
    notes += _check_bodies(motion, robot, qpos, fit)
    notes += _check_floor(robot, qpos)
    contact, more = _contact(motion, robot, fit)
    clip = RobotClip(motion.name, robot.name, motion.fps, qpos, contact)
    return clip, notes + more


def breadth_first(tree: Tree) -> Int[Array, "n"]:
    """Joints of the tree in PhysX's order, as indices in MuJoCo's."""
    depth, above = [], []
    for parent, joints in zip(tree.parents, tree.body_joints, strict=True):
        first = above[parent] if parent >= 0 else 0
        depth += range(first, first + len(joints))
        above.append(first + len(joints))
    return np.argsort(depth, kind="stable")


def _fits(motion: RobotMotion, robot: Robot) -> list[_Fit]:
    """Candidate orders, that of the names first."""
    count = robot.num_joints
    candidates: list[tuple[str, Int[Array, "n"]]] = []
    if motion.joint_names is not None:
        candidates.append(("the names'", _by_name(motion, motion.joint_names, robot)))
    elif motion.joint_pos.shape[1] != count:
        raise InputError(
            f"{motion.joint_pos.shape[1]} joints without names, {robot.name} has {count}",
            where=motion.name, help="give the robot that the motion was made for",
        )  # fmt: skip
    candidates.append(("MuJoCo's", np.arange(count)))
    columns = np.empty(count, dtype=np.int64)
    columns[breadth_first(robot.tree)] = np.arange(count)
    candidates.append(("PhysX's", columns))
    return [_measure(motion, robot, order, columns) for order, columns in candidates]


def _by_name(motion: RobotMotion, names: tuple[str, ...], robot: Robot) -> Int[Array, "n"]:
    missing = [name for name in robot.joint_names if name not in names]
    extra = [name for name in names if name not in robot.joint_names]
    if missing or extra:
        parts = [
            f"{what} {len(found)}: {', '.join(found[:_LISTED])}{', …' * (len(found) > _LISTED)}"
            for what, found in (("it lacks", missing), ("it has beyond them", extra))
            if found
        ]
        raise InputError(
            f"its joints are not those of {robot.name}; {'; '.join(parts)}",
            where=motion.name,
            help="give the robot that the motion was made for",
        )
    return np.array([names.index(name) for name in robot.joint_names], dtype=np.int64)


def _measure(motion: RobotMotion, robot: Robot, order: str, columns: Int[Array, "n"]) -> _Fit:
    """Errors of the stored bodies when the columns are read in an order."""
    none = np.full(len(robot.body_names), -1)
    if motion.body_quat_w is None:
        return _Fit(order, columns, np.inf, np.nan, none)
    at = np.unique(np.linspace(0, motion.num_frames - 1, MAX_FRAMES).astype(int))
    qpos = np.concatenate(
        [motion.root_pos_w[at], motion.root_quat[at], motion.joint_pos[at][:, columns]], axis=1
    )
    pos, quat = robot.forward(qpos)
    stored_quat = motion.body_quat_w[at]
    stored_pos = None if motion.body_pos_w is None else motion.body_pos_w[at]
    angle = np.empty((len(robot.body_names), stored_quat.shape[1]))
    distance = np.zeros_like(angle)
    for b in range(len(robot.body_names)):
        angle[b] = rotation.angle_between(quat[:, b, None], stored_quat).mean(axis=0)
        if stored_pos is not None:
            distance[b] = np.linalg.norm(pos[:, b, None] - stored_pos, axis=-1).mean(axis=0)
    if motion.body_names is not None:
        rows = [motion.body_names.index(n) if n in motion.body_names else -1
                for n in robot.body_names]  # fmt: skip
        stored = np.array(rows)
    else:
        stored = _nearest(angle, distance)
    body = np.flatnonzero(stored >= 0)
    if len(body) < 2:  # the root alone agrees in any order
        return _Fit(order, columns, np.inf, np.nan, stored)
    row = stored[body]
    far = np.nan if stored_pos is None else float(distance[body, row].max())
    return _Fit(order, columns, float(angle[body, row].max()), far, stored)


def _nearest(angle: Float[Array, "B R"], distance: Float[Array, "B R"]) -> Int[Array, "B"]:
    """The stored row that each body follows most closely; of fewer rows, each has one body."""
    score = angle / FIT_ANGLE + distance / FIT_DISTANCE
    if score.shape[1] >= score.shape[0]:
        return np.argmin(score, axis=1)
    stored = np.full(len(score), -1)
    stored[np.argmin(score, axis=0)] = np.arange(score.shape[1])
    return stored


def _choose(motion: RobotMotion, robot: Robot, fits: list[_Fit]) -> tuple[_Fit, list[Note]]:
    """The order to be used.

    Raises:
        InputError: none is settled, or the stored bodies contradict the names.
    """
    first, is_named = fits[0], motion.joint_names is not None
    if np.isinf(first.angle):
        return (first, []) if is_named else _choose_by_range(motion, robot, fits)
    best = first if is_named and first.is_good else min(fits, key=lambda fit: fit.angle)
    said = "; ".join(_say(fit) for fit in fits)
    assumed = any(note.code == "MK161" for note in motion.provenance.notes)
    if best.is_good and is_named and best is not first and not assumed:
        raise InputError(
            f"joint names contradict the stored bodies, which fit {best.order} order: {said}",
            where=motion.name,
            help="correct joint_names in the file",
        )
    if best.is_good and not is_named and not _is_alone(motion, best, fits):
        raise InputError(
            f"joints have no names, and the stored bodies do not tell the order: {said}",
            where=motion.name,
            help="add joint names to the file",
        )
    if best.is_good:
        if is_named and best is first:
            return best, []
        text = f"joints are in {best.order} order, by the stored bodies: {said}"
        return best, [Note("MK168", text, best.angle, "rad")]
    renamed = _renamed(motion, robot, first)
    if renamed is not None:
        return renamed
    raise InputError(
        f"stored bodies are not where {robot.name} has them: {said}",
        where=motion.name, help="give the robot that the motion was made for, or --quat-order",
    )  # fmt: skip


def _is_alone(motion: RobotMotion, best: _Fit, fits: list[_Fit]) -> bool:
    """Whether every other order is worse by far, or puts the same angles on the same joints."""
    return all(
        fit.angle >= ALONE_RATIO * best.angle + ROUNDING
        or np.array_equal(motion.joint_pos[:, fit.columns], motion.joint_pos[:, best.columns])
        for fit in fits
        if fit is not best
    )


def _say(fit: _Fit) -> str:
    far = "" if np.isnan(fit.distance) else f" and {fit.distance:.4f} m"
    return f"{fit.angle:.4f} rad{far} off in {fit.order} order"


def _renamed(motion: RobotMotion, robot: Robot, first: _Fit) -> tuple[_Fit, list[Note]] | None:
    """The same order of joints, when the bodies fit under other names than the file's."""
    if motion.body_names is None:
        return None
    bare = replace(motion, body_names=None)
    fit = _measure(bare, robot, first.order, first.columns)
    if not fit.is_good:
        return None
    wrong = [f"{motion.body_names[row]} is {name}"
             for name, row in zip(robot.body_names, fit.stored, strict=True)
             if motion.body_names[row] != name]  # fmt: skip
    text = (f"names of bodies contradict kinematics ({_say(fit)} if matched without names): "
            f"{', '.join(wrong[:_LISTED])}{', …' if len(wrong) > _LISTED else ''}")  # fmt: skip
    return fit, [Note("MK168", text, float(len(wrong)))]


def _choose_by_range(
    motion: RobotMotion, robot: Robot, fits: list[_Fit]
) -> tuple[_Fit, list[Note]]:
    """The one order in which no joint leaves its range."""
    excess = [float(_excess(robot, motion.joint_pos[:, fit.columns]).max(initial=-np.inf))
              for fit in fits]  # fmt: skip
    said = "; ".join(f"{'within ranges' if e <= ROUNDING else f'{e:.3f} beyond a range'} in "
                     f"{fit.order} order" for fit, e in zip(fits, excess, strict=True))  # fmt: skip
    good = [fit for fit, e in zip(fits, excess, strict=True) if e <= ROUNDING]
    if len(good) != 1:
        raise InputError(
            f"joints have no names, no bodies are stored, and ranges do not tell the order: {said}",
            where=motion.name,
            help="add joint names to the file",
        )
    return good[0], [Note("MK168", f"joints are in {good[0].order} order, by their ranges: {said}")]


def _excess(robot: Robot, angles: Float[Array, "T n"]) -> Float[Array, "T n"]:
    low, high = robot.joint_range.T
    return np.maximum(low - angles, angles - high)


def _check_ranges(motion: RobotMotion, robot: Robot, angles: Float[Array, "T n"]) -> list[Note]:
    excess = _excess(robot, angles)
    if excess.size == 0 or excess.max() <= ROUNDING:
        return []
    frame, joint = (int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
    low, high = robot.joint_range[joint]
    unit = "m" if robot.tree.is_slide[joint] else "rad"
    text = (
        f"{robot.joint_names[joint]} is {angles[frame, joint]:.5g} {unit} at frame {frame}, "
        f"the range of {robot.name} is {low:.5g} to {high:.5g}"
    )
    if excess.max() > RANGE_SLACK:
        raise InputError(text, where=motion.name,
                         help="check the robot, or clip the motion at its source")  # fmt: skip
    return [Note("MK169", text, float(excess.max()), unit)]


def _check_bodies(
    motion: RobotMotion, robot: Robot, qpos: Float[Array, "T nq"], fit: _Fit
) -> list[Note]:
    """Largest and mean errors of all matched bodies in all frames."""
    body = np.flatnonzero(fit.stored >= 0)
    if motion.body_quat_w is None or len(body) == 0:
        return []
    pos, quat = robot.forward(qpos)
    row = fit.stored[body]
    angle = rotation.angle_between(quat[:, body], motion.body_quat_w[:, row])
    frame, worst = (int(i) for i in np.unravel_index(angle.argmax(), angle.shape))
    text = (f"{len(body)} of {len(robot.body_names)} bodies held against {robot.name}: orientation "
            f"off by {angle.mean():.2g} rad on average, {angle.max():.2g} at most "
            f"({robot.body_names[body[worst]]}, frame {frame})")  # fmt: skip
    if motion.body_pos_w is not None:
        far = np.linalg.norm(pos[:, body] - motion.body_pos_w[:, row], axis=-1)
        frame, worst = (int(i) for i in np.unravel_index(far.argmax(), far.shape))
        text += (f"; position by {far.mean():.2g} m, {far.max():.2g} at most "
                 f"({robot.body_names[body[worst]]}, frame {frame})")  # fmt: skip
        return [Note("MK167", text, float(far.max()), "m")]
    return [Note("MK167", text, float(angle.max()), "rad")]


def _check_floor(robot: Robot, qpos: Float[Array, "T nq"]) -> list[Note]:
    """A note when the soles do not reach zero, or go below it."""
    if not len(robot.surface.radius):
        return []
    at = np.unique(np.linspace(0, len(qpos) - 1, FLOOR_FRAMES).astype(int))
    pos, quat = robot.forward(qpos[at])
    carrier = robot.surface.body_index
    point = pos[:, carrier, 2] + rotation.rotate(quat[:, carrier], robot.surface.center)[..., 2]
    floor = float(np.percentile(np.min(point - robot.surface.radius, axis=1), FLOOR_PERCENTILE))
    if abs(floor) <= FLOOR_TOLERANCE:
        return []
    text = f"the lowest point of {robot.name} stays at {floor:.3f} m: the floor is not at zero"
    return [Note("MK112", text, floor, "m")]


def _contact(
    motion: RobotMotion, robot: Robot, fit: _Fit
) -> tuple[Float[Array, "T K"] | None, list[Note]]:
    """Contacts of the robot's contact bodies, where the file's are those of its stored bodies."""
    if motion.contact is None:
        return None, []
    bodies = 0 if motion.body_quat_w is None else motion.body_quat_w.shape[1]
    rows = [int(fit.stored[robot.body_index(name)]) for name in robot.contact_bodies]
    if motion.contact.shape[1] != bodies or min(rows) < 0:
        text = f"{motion.contact.shape[1]} contacts of bodies that are not told apart, left out"
        return None, [Note("MK162", text, float(motion.contact.shape[1]))]
    return motion.contact[:, rows], []
