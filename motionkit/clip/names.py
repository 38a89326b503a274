"""Joints of SMPL-H, and what motionkit asks of a body."""

_FINGERS = ("index", "middle", "pinky", "ring", "thumb")

SMPLH_JOINTS: tuple[str, ...] = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2",
    "left_ankle", "right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar",
    "right_collar", "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow",
    "left_wrist", "right_wrist",
    *(f"{side}_{finger}{i}"
      for side in ("left", "right") for finger in _FINGERS for i in (1, 2, 3)),
)  # fmt: skip
"""The 52 joints of SMPL-H in its own order (Romero et al., "Embodied Hands", 2017)."""

SMPLH_PARENTS: tuple[int, ...] = (
    -1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19,
    *(
        wrist if i == 0 else 22 + 15 * side + 3 * finger + i - 1
        for side, wrist in ((0, 20), (1, 21))
        for finger in range(5)
        for i in range(3)
    ),
)  # fmt: skip

REQUIRED_ROLES: tuple[str, ...] = (
    "pelvis", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle",
    "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
    "head",
)  # fmt: skip
"""Roles without which a skeleton is not taken for a human body."""

CONTACT_PARTS: tuple[str, ...] = ("left_ankle", "left_foot", "right_ankle", "right_foot")
"""Heel and ball of each foot: the order of every ``(T, 4)`` foot-contact array of a human."""

STATURE_RANGE = (0.9, 2.4)
"""Statures [m] that a source may show without a word: a child of three to the tallest people."""
