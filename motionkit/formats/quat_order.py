"""In which order a file writes the components of quaternions: found from how a robot moves.

Both readings, ``wxyz`` and ``xyzw``, are unit quaternions that change smoothly, since one is a
rotation of the other's sphere; so neither norm nor continuity tells. With ``e = (0, 0, 1)`` and for
each reading ``q``, in this order:

- **bodies**, where frames of several bodies are stored: if body ``c`` hangs from body ``p`` by a
  hinge, ``R_pᵀ (x_c - x_p)`` is constant. The figure is the median over bodies ``c`` of the least
  standard deviation [m] over all ``p``. Only the right reading makes it vanish.
- **upright**: mean of ``e · R e`` of the root. A humanoid is mostly upright. Near the identity a
  true ``wxyz`` read as ``xyzw`` stands on its head; a true ``xyzw`` read as ``wxyz`` faces
  backwards with roll and yaw exchanged and pitch reversed, and falls over as soon as it turns.
- **soles**, where the layout of the legs is known: mean tilt [rad] of the flatter sole, which is
  near zero for a robot on level ground; it tells apart what is upright in both readings.
- **travel**: mean cosine between heading and travel, weighted by distance. Robots mostly walk
  forwards.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.formats.source import QuatOrder

Array = np.ndarray

ORDERS: tuple[QuatOrder, QuatOrder] = ("wxyz", "xyzw")
MIN_SLIP = 2e-3
"""Slip of bodies [m] in the wrong reading from which their motion is enough to tell."""
SLIP_RATIO = 4.0
"""How many times more the bodies slip in the wrong reading."""
UPRIGHT = 0.5
"""Mean cosine from which the root counts as upright."""
UPRIGHT_GAP = 0.3
"""Difference of the two readings' mean cosines that decides."""
SOLE_GAP = 0.03
"""Difference of the two readings' tilts of the sole [rad] that decides."""
SOLE_RATIO = 2.0
"""How many times more the sole tilts in the wrong reading."""
MIN_TRAVEL = 1.0
"""Path over the floor [m] from which travel tells a direction."""
TRAVEL_GAP = 1.0
"""Difference of the two readings' mean cosines of heading and travel that decides."""
FORWARDS = 0.5
"""Mean cosine of heading and travel from which a robot counts as walking forwards."""
MAX_BODIES = 64
"""Bodies compared with each other; of more, the first."""
MAX_FRAMES = 100
"""Frames, evenly spread, in which bodies are compared."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the motion says about the order."""

    order: QuatOrder | None
    """The order; absent where the motion does not tell."""
    text: str
    """The figures that decided, or failed to."""


def reorder(quat: Float[Array, "*n 4"], order: QuatOrder) -> Float[Array, "*n 4"]:
    """Quaternions of that order as wxyz."""
    return quat if order == "wxyz" else rotation.from_xyzw(quat)


def find_order(
    root: Float[Array, "T 4"],
    pos: Float[Array, "T 3"],
    up: Float[Array, "3"],
    sole_tilt: Callable[[Float[Array, "T 4"]], Float[Array, "T"]] | None = None,
) -> Finding:
    """The order of the root's quaternions, from upright, soles and travel.

    Args:
        root: as the file has them, unit length.
        pos: of the root [m], in the world of the file.
        up: the direction in that world that is up.
        sole_tilt: tilt [rad] of the flatter sole, given the root's wxyz; where legs are known.
    """
    readings = [reorder(root, order) for order in ORDERS]
    body_up = [float(np.mean(rotation.rotate(q, np.array([0.0, 0.0, 1.0])) @ up)) for q in readings]
    text = f"body upright by a cosine of {body_up[0]:.2f} as wxyz, {body_up[1]:.2f} as xyzw"
    order = _greater(body_up, UPRIGHT_GAP, UPRIGHT)
    if sole_tilt is not None:
        tilt = [float(np.mean(sole_tilt(q))) for q in readings]
        text += f"; soles tilted by {tilt[0]:.3f} rad as wxyz, {tilt[1]:.3f} as xyzw"
        vote = _less(tilt, SOLE_GAP, SOLE_RATIO)
        if order and vote and order != vote:
            return Finding(None, f"{text}, which contradict each other")
        order = order or vote
    if order is None and up[2] == 1.0:
        steps = np.diff(pos[:, :2], axis=0)
        path = float(np.sum(np.linalg.norm(steps, axis=1)))
        if path >= MIN_TRAVEL:
            ahead = [_ahead(q, steps, path) for q in readings]
            text += f"; facing travel by {ahead[0]:.2f} as wxyz, {ahead[1]:.2f} as xyzw"
            order = _greater(ahead, TRAVEL_GAP, FORWARDS)
    return Finding(order, text)


def _ahead(q: Float[Array, "T 4"], steps: Float[Array, "D 2"], path: float) -> float:
    """Mean cosine between heading and travel, weighted by distance."""
    x = rotation.rotate(q[:-1], np.array([1.0, 0.0, 0.0]))[:, :2]
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return float(np.sum(x / np.where(length > 0, length, 1.0) * steps) / path)


def find_body_order(quat: Float[Array, "T B 4"], pos: Float[Array, "T B 3"]) -> Finding:
    """The order of the quaternions of bodies, from how they hang together."""
    frames = np.unique(np.linspace(0, len(quat) - 1, MAX_FRAMES).astype(int))
    quat, pos = quat[frames, :MAX_BODIES], pos[frames, :MAX_BODIES]
    if quat.shape[1] < 2 or len(frames) < 2:
        return Finding(None, "one body or one frame")
    slip = [_slip(reorder(quat, order), pos) for order in ORDERS]
    text = f"bodies slip on each other by {slip[0]:.2g} m as wxyz, {slip[1]:.2g} m as xyzw"
    return Finding(_less(slip, MIN_SLIP, SLIP_RATIO), text)


def _slip(quat: Float[Array, "S B 4"], pos: Float[Array, "S B 3"]) -> float:
    """Median over bodies of how much each moves in the frame of the one it hangs from [m]."""
    best = np.full(quat.shape[1], np.inf)
    back = rotation.conjugate(quat)
    for parent in range(quat.shape[1]):
        local = rotation.rotate(back[:, parent, None], pos - pos[:, parent, None])
        spread = np.sqrt(np.sum(np.var(local, axis=0), axis=-1))
        spread[parent] = np.inf
        best = np.minimum(best, spread)
    return float(np.median(best))


def _greater(figures: list[float], gap: float, least: float) -> QuatOrder | None:
    first = int(figures[1] > figures[0])
    if figures[first] >= least and figures[first] - figures[1 - first] >= gap:
        return ORDERS[first]
    return None


def _less(figures: list[float], gap: float, ratio: float) -> QuatOrder | None:
    first = int(figures[1] < figures[0])
    if figures[1 - first] - figures[first] >= gap and figures[1 - first] >= ratio * figures[first]:
        return ORDERS[first]
    return None
