"""A robot and an objective in pyroki's and jaxls' own terms.

Residuals, with frames ``t`` and histories ``y`` as in :mod:`.temporal`:

    one frame      position, orientation, direction, ground, posture
    two frames     velocity, speed budget
    three frames   acceleration, acceleration budget

Unknowns of a frame are the root on SE(3) (none if it is fixed) and ``u`` with
``q = middle + half tanh(u)``, so that limits hold by construction; ``u = q`` where there are none.
Once a clip: the URDF, the sparsity, one compilation. Every step: one pass of automatic
differentiation over each group of costs.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.kinematics import Tree
from motionkit.retarget.lm import Problem
from motionkit.retarget.objective import Pose

Array = np.ndarray

DENSE_UNKNOWNS = 2000  # up to which jaxls factors one dense matrix; conjugate gradients beyond
_START = 0.999  # share of the half range that a start may reach in inverse-tanh coordinates
_MIN_DAMPING = 1e-9
_GROWTH = 2.0  # of jaxls' damping
_TURN = np.s_[3:6]  # rows of the root rotation, which has no terms between frames
_ANY_AXIS = np.array([1.0, 0.0, 0.0])  # of a fixed joint
_LIMIT = 1.0  # pyroki wants a limit of every joint, and this module uses none


class Box:
    """Inverse-tanh coordinates of the joints."""

    def __init__(self, limits: Float[Array, "n 2"]) -> None:
        """Unlimited joints are their own coordinate."""
        self._limits = limits
        self.limited = np.all(np.isfinite(limits), axis=1)
        safe = np.where(self.limited[:, None], limits, [[-1.0, 1.0]])
        self.middle, self.half = safe.mean(axis=1), 0.5 * np.diff(safe, axis=1)[:, 0]

    def from_q(self, q: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Coordinates of joint angles, those at a limit drawn in by a thousandth."""
        share = (q - self.middle[:, None]) / self.half[:, None]
        inside = np.arctanh(np.clip(share, -_START, _START))
        return np.where(self.limited[:, None], inside, q)

    def to_q(self, u: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Joint angles; what tanh leaves a limit by, one unit in the last place, is taken back."""
        inside = self.middle[:, None] + self.half[:, None] * np.tanh(u)
        q = np.where(self.limited[:, None], inside, u)
        return np.clip(q, self._limits[:, :1], self._limits[:, 1:])


def urdf_of(tree: Tree) -> Any:
    """The tree as a URDF in memory (``yourdfpy.URDF``), and the name of each body's link.

    URDF has one joint a link, whose axis passes through the link's origin: each joint becomes a
    link at its anchor, and a fixed joint leads back to the body where the last anchor is off.
    The coordinates of the URDF are ``q - ref``.
    """
    import yourdfpy

    links, joints, names = [yourdfpy.Link("body0")], [], ["body0"]

    def join(kind: str, parent: str, child: str, origin: Array, axis: Array) -> None:
        links.append(yourdfpy.Link(child))
        joints.append(
            yourdfpy.Joint(
                name=f"to_{child}",
                type=kind,
                parent=parent,
                child=child,
                origin=origin,
                axis=axis,
                limit=yourdfpy.Limit(velocity=_LIMIT, lower=-_LIMIT, upper=_LIMIT),
            )
        )

    for body, own in enumerate(tree.body_joints):
        if body == 0:
            assert not own, "the root body has a free joint only"
            continue
        last, origin = names[tree.parents[body]], _transform(tree.mat[body], tree.pos[body])
        for j in own:
            anchor = np.zeros(3) if tree.is_slide[j] else tree.anchor[j]
            there = origin @ _transform(np.eye(3), anchor)
            join("prismatic" if tree.is_slide[j] else "revolute", last, f"joint{j}", there,
                 np.array(tree.axis[j]))  # fmt: skip
            last, origin = f"joint{j}", _transform(np.eye(3), -anchor)
        if not own or np.any(origin[:3, 3] != 0):
            join("fixed", last, f"body{body}", origin, _ANY_AXIS)
            last = f"body{body}"
        names.append(last)
    robot = yourdfpy.Robot(name="made", links=links, joints=joints)
    return yourdfpy.URDF(robot=robot, load_meshes=False), tuple(names)


def _transform(mat: Float[Array, "3 3"], pos: Float[Array, "3"]) -> Float[Array, "4 4"]:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = mat, pos
    return out


class Statement:
    """A problem as jaxls costs. Make and use it where jax computes in float64."""

    def __init__(self, problem: Problem, start: Pose, root_is_free: bool) -> None:
        """State the problem for the frames of ``start``, whose root is kept if it is not free."""
        import jax.numpy as jnp
        import jaxls

        n, frames = start.q.shape

        class Joints(jaxls.Var[Any], default_factory=lambda: jnp.zeros(n)):
            """Inverse-tanh coordinates of one frame."""

        self._joints, self._root_is_free = Joints, root_is_free
        self._box = Box(problem.limits)
        self._ids: Any = np.arange(frames, dtype=np.int32)
        self._kept: Any = _wxyz_xyz(start)
        self.num_unknowns = frames * (n + 6 * root_is_free)
        terms = _Terms(problem, self._box)
        offset = np.delete(problem.temporal.offset, _TURN, axis=0).T
        costs: list[Any] = []
        costs.append(
            jaxls.Cost(terms.within_frame, (*self._at(1), (offset,), _frame_data(problem)))
        )
        for count, residual in ((2, terms.velocity), (3, terms.acceleration)):
            if frames >= count:
                offsets = tuple(offset[k : frames - count + 1 + k] for k in range(count))
                costs.append(jaxls.Cost(residual, (*self._at(count), offsets)))
        variables: list[Any] = [Joints(self._ids)]
        if root_is_free:
            variables.append(jaxls.SE3Var(self._ids))
        analyzed = jaxls.LeastSquaresProblem(costs, variables).analyze(use_onp=True)
        # In float64 mode jaxls mixes the integers of its column indices, 32 bits wide, with jax's
        # own, 64 bits wide, and fails; wide starts of the columns make all of them wide.
        starts = analyzed._tangent_start_from_var_type
        self._problem = dataclasses.replace(
            analyzed,
            _tangent_start_from_var_type={kind: np.int64(at) for kind, at in starts.items()},
        )

    def _at(self, count: int) -> tuple[Any, Any]:
        """Roots and joints of ``count`` successive frames, for each first frame at once."""
        import jaxlie
        import jaxls

        last = len(self._ids) - count + 1
        ids = [self._ids[k : last + k] for k in range(count)]
        if self._root_is_free:
            roots = tuple(jaxls.SE3Var(i) for i in ids)
        else:
            roots = tuple(jaxlie.SE3(self._kept[i]) for i in ids)
        return roots, tuple(self._joints(i) for i in ids)

    def _values(self, pose: Pose) -> Any:
        import jaxlie
        import jaxls

        root: Any = _wxyz_xyz(pose)
        values: list[Any] = [self._joints(self._ids).with_value(self._box.from_q(pose.q).T)]
        if self._root_is_free:
            values.append(jaxls.SE3Var(self._ids).with_value(jaxlie.SE3(root)))
        return jaxls.VarValues.make(values)

    def improve(
        self, pose: Pose, steps: int, damping: float, max_damping: float, tolerance: float
    ) -> tuple[Pose, int, Float[Array, "k"]]:
        """Let jaxls take up to ``steps`` steps.

        Returns:
            The motion it ends at, the steps it tried, the cost at the start and after each step
            tried but the last of ``steps``.
        """
        import jaxls

        dense = self.num_unknowns <= DENSE_UNKNOWNS
        values, summary = self._problem.solve(
            self._values(pose),
            linear_solver="dense_cholesky" if dense else "conjugate_gradient",
            trust_region=jaxls.TrustRegionConfig(
                lambda_initial=damping,
                lambda_factor=_GROWTH,
                lambda_min=_MIN_DAMPING,
                lambda_max=max_damping,
            ),
            termination=jaxls.TerminationConfig(
                max_iterations=steps,
                cost_tolerance=tolerance,
                gradient_tolerance=0.0,
                parameter_tolerance=0.0,
            ),
            verbose=False,
            return_summary=True,
        )
        tried = int(summary.iterations)
        history = 0.5 * np.asarray(summary.cost_history)[: min(tried + 1, steps)]
        root_pos, root_mat = pose.root_pos, pose.root_mat
        if self._root_is_free:
            root = np.asarray(values[jaxls.SE3Var].wxyz_xyz)
            root_pos = np.ascontiguousarray(root[:, 4:].T)
            mat = rotation.to_matrix(rotation.normalize(root[:, :4]))
            root_mat = np.ascontiguousarray(np.moveaxis(mat, 0, -1))
        q = self._box.to_q(np.asarray(values[self._joints]).T)
        return Pose(root_pos, root_mat, np.ascontiguousarray(q)), tried, history


class _Terms:
    """Residual functions of jaxls: values of the variables, then roots, joints and data."""

    def __init__(self, problem: Problem, box: Box) -> None:
        import pyroki

        urdf, links = urdf_of(problem.objective.tree)
        self._problem, self._box = problem, box
        self._robot = pyroki.Robot.from_urdf(urdf)
        joints = [int(name.split("_joint")[1]) for name in self._robot.joints.actuated_names]
        self._order = np.array(joints)
        self._links = np.array([self._robot.links.names.index(name) for name in links])

    def _history(self, values: Any, root: Any, joints: Any, offset: Any) -> Any:
        """Root translation and joint coordinates against their offset."""
        import jax.numpy as jnp

        return (
            jnp.concatenate([_root(values, root).translation(), self._q(values[joints])]) - offset
        )

    def _q(self, u: Any) -> Any:
        import jax.numpy as jnp

        box = self._box
        return jnp.where(box.limited, box.middle + box.half * jnp.tanh(u), u)

    def within_frame(
        self, values: Any, roots: Any, joints: Any, offsets: Any, data: dict[str, Any]
    ) -> Any:
        import jax.numpy as jnp
        import jaxlie

        objective, temporal = self._problem.objective, self._problem.temporal
        q = self._q(values[joints[0]]) - objective.tree.ref
        at_root = self._robot.forward_kinematics(q[self._order])[self._links]
        world = _root(values, roots[0]) @ jaxlie.SE3(at_root)
        x, R = world.translation(), world.rotation().as_matrix()
        parts = []
        for k, points in enumerate(objective.points):
            body = points.body_index
            place = x[body] + jnp.einsum("pij,pj->pi", R[body], points.offset)
            parts.append(data[f"weight{k}"][:, None] * (place - data[f"point{k}"]))
        turns, limbs, surface = objective.orientations, objective.directions, objective.surface
        weight = np.sqrt(0.5 * turns.weight)[:, None, None]
        parts.append(weight * (R[turns.body_index] - data["orientation"]))
        if len(limbs.body_index):
            along = jnp.einsum("dij,dj->di", R[limbs.body_index], limbs.local)
            parts.append(np.sqrt(limbs.weight)[:, None] * (along - data["direction"]))
        center = jnp.einsum("pj,pj->p", R[surface.body_index, 2], surface.center)
        height = x[surface.body_index, 2] + center - surface.radius
        parts.append(np.sqrt(objective.ground_weight) * jnp.minimum(height, 0.0))
        y = self._history(values, roots[0], joints[0], offsets[0])
        parts.append(np.sqrt(np.delete(temporal.posture, _TURN)) * y)
        return jnp.concatenate([part.reshape(-1) for part in parts])

    def velocity(self, values: Any, roots: Any, joints: Any, offsets: Any) -> Any:
        terms = self._problem.temporal
        y = [self._history(values, *at) for at in zip(roots, joints, offsets, strict=True)]
        return self._rate((y[1] - y[0]) * terms.fps, terms.velocity, terms.max_velocity)

    def acceleration(self, values: Any, roots: Any, joints: Any, offsets: Any) -> Any:
        terms = self._problem.temporal
        y = [self._history(values, *at) for at in zip(roots, joints, offsets, strict=True)]
        rate = (y[2] - 2.0 * y[1] + y[0]) * terms.fps**2
        return self._rate(rate, terms.acceleration, terms.max_acceleration)

    def _rate(self, rate: Any, weight: Float[Array, "m"], budget: Float[Array, "m"]) -> Any:
        import jax.numpy as jnp

        terms = self._problem.temporal
        share = jnp.abs(rate) / np.delete(budget, _TURN)
        excess = np.sqrt(terms.budget) * jnp.maximum(share - terms.onset, 0.0)
        return jnp.concatenate([np.sqrt(np.delete(weight, _TURN)) * rate, excess])


def _root(values: Any, root: Any) -> Any:
    import jaxls

    return values[root] if isinstance(root, jaxls.Var) else root


def _frame_data(problem: Problem) -> dict[str, Array]:
    """Targets and weights of the terms within a frame, frames first."""
    objective = problem.objective
    data = {"orientation": objective.orientations.target}
    if len(objective.directions.body_index):
        data["direction"] = objective.directions.target
    for k, points in enumerate(objective.points):
        data[f"point{k}"] = points.target
        data[f"weight{k}"] = np.sqrt(points.weight)
    return {key: np.moveaxis(value, -1, 0) for key, value in data.items()}


def _wxyz_xyz(pose: Pose) -> Float[Array, "T 7"]:
    quat = rotation.from_matrix(np.moveaxis(pose.root_mat, -1, 0))
    return np.concatenate([quat, pose.root_pos.T], axis=1)
