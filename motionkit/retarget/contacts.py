"""When the feet of a human stand, and where the ground is.

A foot point (ankle, toe base) stands while it is low and slow, with hysteresis, in seconds and
metres, whatever the frame rate. The level of the ground is the height of the soles in stance.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from motionkit.clip import CONTACT_PARTS, SMPLH_JOINTS, HumanClip, runs

Array = np.ndarray

_SPEED_WINDOW = 1.0 / 15.0  # [s] over which a foot's speed is measured
_SLOW = 0.2  # [m/s] a foot below this may start to stand
_FAST = 0.3  # [m/s] a standing foot above this has left
_LOW = 0.035  # [m] height of a sole below which it may start to stand
_HIGH = 0.06  # [m] height of a sole above which it has left
_SHORTEST = 0.08  # [s] stances shorter than this are passing touches
_FLOOR_QUANTILE = 0.1  # of sole heights in slow frames, for the first guess of the floor


@dataclass(frozen=True, slots=True)
class Contacts:
    """Stances of the four foot points over the ground."""

    ground: float
    """Height of the ground in the source's world [m]."""
    spread: float
    """Range of the stances' heights over it [m]: large on stairs, or where detection fails."""
    stands: Bool[Array, "T 4"]
    """Whether each of :data:`motionkit.clip.CONTACT_PARTS` stands."""


def find_contacts(human: HumanClip) -> Contacts:
    """Stances and ground as the clip knows them, else from the soles' heights and speeds.

    A clip in which no foot ever stands has its ground at the lowest sole.
    """
    index = [SMPLH_JOINTS.index(part) for part in CONTACT_PARTS]
    pos = human.landmark_pos_w[:, index]
    rest = np.array([human.ankle_height, human.toe_height] * 2)
    sole = pos[..., 2] - rest
    speed = _speed(pos, human.fps)
    if human.contact is not None:
        stands = human.contact.astype(bool)
        ground = float(np.median(sole[stands])) if stands.any() else float(sole.min())
    else:
        slow = speed < _SLOW
        ground = float(np.quantile(sole[slow], _FLOOR_QUANTILE)) if slow.any() else sole.min()
        stands = _hysteresis(sole - ground, speed, human.fps)
        if stands.any():  # once more, with the floor that the first pass stood on
            ground = float(np.median(sole[stands]))
            stands = _hysteresis(sole - ground, speed, human.fps)
        if (
            not stands.any()
        ):  # slow feet in the air, as those of a walk on a treadmill, are no floor
            ground = float(sole.min())
    if human.ground is not None:
        ground = human.ground
    heights = [
        float(np.median(sole[start:stop, part]))
        for part in range(len(CONTACT_PARTS))
        for start, stop in runs(stands[:, part])
    ]
    return Contacts(float(ground), float(np.ptp(heights)) if heights else 0.0, stands)


def with_contacts(human: HumanClip) -> HumanClip:
    """The clip with its contacts and ground written into it.

    Do this before cutting: found in a part alone, the ground may differ by some millimetres.
    """
    contacts = find_contacts(human)
    return replace(human, contact=contacts.stands, ground=contacts.ground)


def _speed(pos: Float[Array, "T 4 3"], fps: float) -> Float[Array, "T 4"]:
    """Speed over a window of fixed duration, centred; shorter at the ends."""
    frames = np.arange(len(pos), dtype=np.float64)
    half = 0.5 * _SPEED_WINDOW * fps
    before = np.clip(frames - half, 0, len(pos) - 1)
    after = np.clip(frames + half, 0, len(pos) - 1)
    span = np.maximum(after - before, 1e-9) / fps

    def at(time: Array) -> Array:
        low = np.minimum(time.astype(int), max(len(pos) - 2, 0))
        share = (time - low)[:, None, None]
        return pos[low] * (1 - share) + pos[np.minimum(low + 1, len(pos) - 1)] * share

    return np.linalg.norm(at(after) - at(before), axis=-1) / span[:, None]


def _hysteresis(
    height: Float[Array, "T 4"], speed: Float[Array, "T 4"], fps: float
) -> Bool[Array, "T 4"]:
    begins = (height < _LOW) & (speed < _SLOW)
    goes_on = (height < _HIGH) & (speed < _FAST)
    out = np.zeros(height.shape, dtype=bool)
    shortest = max(round(_SHORTEST * fps), 1)
    for part in range(height.shape[1]):
        for start, stop in runs(goes_on[:, part]):
            inside = np.flatnonzero(begins[start:stop, part])
            if len(inside) and stop - start >= shortest:
                out[start:stop, part] = True
    return out
