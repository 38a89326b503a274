"""The embedded human: 52 joints of SMPL-H in the T-pose, from published anthropometry.

Every length is a share of stature ``H``. The body faces +X with +Y to its left and +Z up; arms lie
along ±Y with the palms down, legs hang along -Z, feet point along +X. Sources:

- **D&C**: Drillis & Contini, "Body segment parameters", 1966, as in Winter, "Biomechanics and
  Motor Control of Human Movement", fig. 4.1: heights of ankle 0.039, knee 0.285, hip 0.530 and
  shoulder 0.818, half the breadth of the shoulders 0.129, upper arm 0.186, forearm 0.146, hand
  0.108, foot 0.152 H.
- **Dumas**: Dumas, Chèze & Verriest, J. Biomech. 40, 2007: lumbar joint 0.34 and hip joints
  ∓0.36 pelvis widths (0.231 m at 1.69 m) above and beside the middle of the hips, so 0.047 and
  0.050 H; cervical joint 0.268 H above the lumbar joint.
- **Buchholz**: Buchholz, Armstrong & Goldstein, Ergonomics 35, 1992: bones of the fingers as shares
  of the hand's length.
- **Greiner**: Greiner, "Hand anthropometry of U.S. Army personnel", 1991: breadth of the hand 0.46
  of its length.

What no table gives is by construction and says so below.
"""

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS

Array = np.ndarray

ANKLE_HEIGHT = 0.039
"""Ankle joint above the sole [H] (D&C)."""
TOE_HEIGHT = 0.0125
"""Toe-base joint above the sole [H]: half the thickness of the forefoot, by construction."""
KNEE_HEIGHT = 0.285
"""Knee joint above the sole [H] (D&C)."""
HIP_HEIGHT = 0.530
"""Hip joint above the sole [H] (D&C)."""
HIP_HALF_BREADTH = 0.050
"""Hip joint from the middle [H] (Dumas)."""
PELVIS_ABOVE_HIPS = 0.047
"""Pelvis joint, taken for the lumbar joint, above the hip joints [H] (Dumas)."""
NECK_ABOVE_PELVIS = 0.268
"""Cervical joint above the lumbar joint [H] (Dumas); the three spine joints lie evenly between."""
HEAD_HEIGHT = 0.910
"""Head joint above the sole [H]: halfway from the jaw's angle, 0.883 (de Leva, J. Biomech. 29,
1996), to the eye, 0.936 (D&C)."""
SHOULDER_HEIGHT = 0.818
"""Shoulder joint above the sole [H] (D&C)."""
SHOULDER_HALF_BREADTH = 0.129
"""Shoulder joint from the middle [H] (D&C)."""
COLLAR_SHARE = 0.15
"""Inner end of the collar bone, as a share of the way to the shoulder, by construction."""
UPPER_ARM = 0.186
"""Shoulder to elbow [H] (D&C)."""
FOREARM = 0.146
"""Elbow to wrist [H] (D&C)."""
HAND = 0.108
"""Wrist to the tip of the middle finger [H] (D&C)."""
BALL = 0.47 * 0.152
"""Ankle to toe base, level [H]: the foot of D&C, with the ankle at 0.25 and the ball at 0.72 of its
length from the heel, by construction."""

_FINGERS = {  # metacarpal, proximal, middle [hand lengths] (Buchholz); place across the palm
    "index": (0.463, 0.245, 0.143, 3.0 / 8.0),
    "middle": (0.446, 0.266, 0.170, 1.0 / 8.0),
    "ring": (0.421, 0.244, 0.165, -1.0 / 8.0),
    "pinky": (0.414, 0.204, 0.117, -3.0 / 8.0),
}
_HAND_BREADTH = 0.46  # hand lengths (Greiner); knuckles at odd eighths of it, by construction
_THUMB = (0.12, 0.251, 0.196)  # carpus by construction, metacarpal and proximal (Buchholz)
_THUMB_ANGLE = np.radians(45.0)  # of the thumb from the hand towards +X, by construction

LIMBS: tuple[tuple[str, str, float], ...] = (
    ("hip", "knee", HIP_HEIGHT - KNEE_HEIGHT),
    ("knee", "ankle", KNEE_HEIGHT - ANKLE_HEIGHT),
    ("shoulder", "elbow", UPPER_ARM),
    ("elbow", "wrist", FOREARM),
)
"""Long bones of each side: from, to, length [H]. Stature is judged by them."""


def embedded_rest(stature: float) -> Float[Array, "52 3"]:
    """Joint positions in the T-pose facing +X, pelvis at the origin [m].

    Args:
        stature: standing height [m].
    """
    pelvis = HIP_HEIGHT + PELVIS_ABOVE_HIPS
    at = {"pelvis": (0.0, 0.0, 0.0)}
    for i, name in enumerate(("spine1", "spine2", "spine3", "neck"), start=1):
        at[name] = (0.0, 0.0, NECK_ABOVE_PELVIS * i / 4.0)
    at["head"] = (0.0, 0.0, HEAD_HEIGHT - pelvis)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip, arm = sign * HIP_HALF_BREADTH, sign * SHOULDER_HALF_BREADTH
        at |= {
            f"{side}_hip": (0.0, hip, -PELVIS_ABOVE_HIPS),
            f"{side}_knee": (0.0, hip, KNEE_HEIGHT - pelvis),
            f"{side}_ankle": (0.0, hip, ANKLE_HEIGHT - pelvis),
            f"{side}_foot": (BALL, hip, TOE_HEIGHT - pelvis),
            f"{side}_collar": (0.0, COLLAR_SHARE * arm, SHOULDER_HEIGHT - pelvis),
            f"{side}_shoulder": (0.0, arm, SHOULDER_HEIGHT - pelvis),
            f"{side}_elbow": (0.0, arm + sign * UPPER_ARM, SHOULDER_HEIGHT - pelvis),
            f"{side}_wrist": (0.0, arm + sign * (UPPER_ARM + FOREARM), SHOULDER_HEIGHT - pelvis),
        }
        wrist = np.array(at[f"{side}_wrist"])
        for joint, place in _hand(sign).items():
            at[f"{side}_{joint}"] = tuple(wrist + HAND * place)
    return stature * np.array([at[name] for name in SMPLH_JOINTS])


def _hand(sign: float) -> dict[str, Array]:
    """Finger joints from the wrist [hand lengths], palm down, thumb towards +X."""
    out = {}
    for finger, (*bones, across) in _FINGERS.items():
        for i, reach in enumerate(np.cumsum(bones), start=1):
            out[f"{finger}{i}"] = np.array([across * _HAND_BREADTH, sign * reach, 0.0])
    direction = np.array([np.sin(_THUMB_ANGLE), sign * np.cos(_THUMB_ANGLE), 0.0])
    for i, reach in enumerate(np.cumsum(_THUMB), start=1):
        out[f"thumb{i}"] = reach * direction
    return out


def forward(
    rest: Float[Array, "52 3"], root: Float[Array, "T 3"], quat: Float[Array, "T 52 4"]
) -> Float[Array, "T 52 3"]:
    """World positions of the joints [m] from their world orientations.

    Args:
        rest: positions in the T-pose [m].
        root: positions of the pelvis [m].
        quat: orientations, the identity in the T-pose.
    """
    pos = np.empty((len(root), len(SMPLH_JOINTS), 3))
    pos[:, 0] = root
    for joint, parent in enumerate(SMPLH_PARENTS[1:], start=1):
        bone = rest[joint] - rest[parent]
        pos[:, joint] = pos[:, parent] + rotation.rotate(quat[:, parent], bone)
    return pos


def stature_from_bones(length: dict[tuple[str, str], float]) -> float:
    """Standing height [m] of a body of the embedded proportions, from lengths of its long bones.

    Args:
        length: of some of :data:`LIMBS`, e.g. ``("hip", "knee")`` [m], sides averaged.
    """
    share = sum(part for near, far, part in LIMBS if (near, far) in length)
    return sum(length.values()) / share
