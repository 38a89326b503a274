"""Orders of joints that files do not state, told by how many there are.

A layout counts only where the points also move as its body does
(:func:`motionkit.formats.point_roles.find_flaw`), so that two of one count can be told apart.
"""

from dataclasses import dataclass

from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS

_BODY = 22  # joints of SMPL-H before the fingers


@dataclass(frozen=True, slots=True)
class JointLayout:
    """An order of joints that a program or data set writes without names."""

    name: str
    """For people."""
    joints: tuple[str, ...]
    """Names, in the order of the file (J)."""
    parents: tuple[int, ...]
    """Index of each joint's parent, before it; -1 for the root (J)."""
    rate_help: str = ""
    """What is known about its rate, for the user who has to give it."""
    is_humanml3d: bool = False
    """Whether bare arrays of it are HumanML3D's when they are Y up."""


def _after(
    body: tuple[str, ...], *extra: tuple[str, str]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The first joints of SMPL-H and others, each with the name of its parent."""
    names = (*body, *(name for name, _ in extra))
    return names, (*SMPLH_PARENTS[: len(body)], *(names.index(parent) for _, parent in extra))


def _tree(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and parents from chains ``parent: child child …``, each child below the one before."""
    names: list[str] = []
    parents: list[int] = []
    for chain in text.split(";"):
        start, _, rest = chain.partition(":")
        below = names.index(start.strip()) if start.strip() else -1
        for name in rest.split():
            parents.append(below)
            below = len(names)
            names.append(name)
    return tuple(names), tuple(parents)


_SIDES = ("Left", "Right")
_SMPL = _after(SMPLH_JOINTS[:_BODY], ("left_hand", "left_wrist"), ("right_hand", "right_wrist"))
_KEYPOINTS = _after(
    SMPLH_JOINTS[:_BODY],
    ("left_hand", "left_wrist"), ("right_hand", "right_wrist"),
    *((name, "head") for name in ("nose", "right_eye", "left_eye", "right_ear", "left_ear")),
    *((f"{side}_{point}", f"{side}_ankle")
      for side in ("left", "right") for point in ("big_toe", "small_toe", "heel")),
    *((f"{side}_{finger}_tip", f"{side}_wrist") for side in ("left", "right")
      for finger in ("thumb", "index", "middle", "ring", "pinky")),
)  # fmt: skip
_SMPLX = _after(
    SMPLH_JOINTS[:_BODY],
    ("jaw", "head"), ("left_eye_smplhf", "head"), ("right_eye_smplhf", "head"),
    *((SMPLH_JOINTS[j], SMPLH_JOINTS[SMPLH_PARENTS[j]]) for j in range(_BODY, len(SMPLH_JOINTS))),
)  # fmt: skip
_LAFAN1 = _tree(
    ": Hips; Hips: LeftUpLeg LeftLeg LeftFoot LeftToe; Hips: RightUpLeg RightLeg RightFoot "
    "RightToe; Hips: Spine Spine1 Spine2 Neck Head; Spine2: LeftShoulder LeftArm LeftForeArm "
    "LeftHand; Spine2: RightShoulder RightArm RightForeArm RightHand"
)
_SOMA_TRUNK = ": Hips Spine1 Spine2 Chest Neck1 Neck2 Head; "
_SOMA30 = _tree(
    _SOMA_TRUNK
    + "Head: Jaw; Head: LeftEye; Head: RightEye; "
    + "; ".join(
        f"Chest: {s}Shoulder {s}Arm {s}ForeArm {s}Hand {s}HandThumbEnd; {s}Hand: {s}HandMiddleEnd"
        for s in _SIDES
    )
    + "; "
    + "; ".join(f"Hips: {s}Leg {s}Shin {s}Foot {s}ToeBase" for s in _SIDES)
)
_FINGER_BONES = (("Thumb", 3), ("Index", 4), ("Middle", 4), ("Ring", 4), ("Pinky", 4))


def _soma_hand(side: str) -> str:
    """Chains of the fingers of one hand of SOMA's 77 joints."""
    return "; ".join(
        f"{side}Hand: " + " ".join(f"{side}Hand{finger}{i}" for i in (*range(1, bones + 1), "End"))
        for finger, bones in _FINGER_BONES
    )


_SOMA77 = _tree(
    _SOMA_TRUNK
    + "Head: HeadEnd; Head: Jaw; Head: LeftEye; Head: RightEye; "
    + "; ".join(f"Chest: {s}Shoulder {s}Arm {s}ForeArm {s}Hand; {_soma_hand(s)}" for s in _SIDES)
    + "; "
    + "; ".join(f"Hips: {s}Leg {s}Shin {s}Foot {s}ToeBase {s}ToeEnd" for s in _SIDES)
)

_HUMANML3D_RATE = "HumanML3D is 20 by convention"
_KIMODO_RATE = "Kimodo writes 30"

LAYOUTS: tuple[JointLayout, ...] = (
    # Guo et al., "Generating Diverse and Natural 3D Human Motions from Text", CVPR 2022: the
    # first 22 joints of SMPL. Kimodo writes the same 22 of SMPL-X.
    JointLayout("SMPL's 22 body joints (HumanML3D)", SMPLH_JOINTS[:_BODY], SMPLH_PARENTS[:_BODY],
                _HUMANML3D_RATE, is_humanml3d=True),
    # Harvey et al., "Robust Motion In-Betweening", 2020: the order of LAFAN1's own BVH files.
    JointLayout("LAFAN1", *_LAFAN1, "LAFAN1 is 30"),
    JointLayout("SMPL", *_SMPL),
    # smplx, SMPL with its default joint selector: 24 joints, then vertices of face, feet, fingers.
    JointLayout("SMPL with the 21 extra keypoints of smplx", *_KEYPOINTS),
    JointLayout("SMPL-H", SMPLH_JOINTS, SMPLH_PARENTS),
    JointLayout("SMPL-X", *_SMPLX),
    # nv-tlabs/kimodo, kimodo/skeleton/definitions.py; checked on a file of 30 joints, and the
    # names of the 77 against the order of NVIDIA's own SOMA BVH.
    JointLayout("SOMA, 30 joints (Kimodo)", *_SOMA30, _KIMODO_RATE),
    JointLayout("SOMA, 77 joints (Kimodo)", *_SOMA77, _KIMODO_RATE),
)  # fmt: skip
"""Every order of joints that is known without names."""

UNCLEAR: dict[int, str] = {
    17: "17 joints are COCO's or Human3.6M's, in different orders",
    21: "21 joints are KIT-ML's, a hand's or others', in different orders",
    25: "25 joints are Kinect's, NTU's or OpenPose's, in different orders",
    27: "27 joints are ARDY's, of which two orders are in use",
    34: "34 joints are those of Kimodo's G1, a robot",
}  # fmt: skip
"""Counts that are known and tell no one order."""
NAMES_HELP = "save them in an .npz with joint_positions, joint_names and fps"
"""What to do about an order that cannot be told."""
FEATURES: dict[int, str] = {263: "HumanML3D", 251: "KIT-ML"}
"""Widths of rows of features, which hold velocities and rotations, not positions."""


def layouts_of(count: int) -> list[JointLayout]:
    """The layouts with this many joints."""
    return [layout for layout in LAYOUTS if len(layout.joints) == count]


def known_counts() -> str:
    """The counts that are read without names, for an error."""
    counts = sorted({len(layout.joints) for layout in LAYOUTS})
    return ", ".join(map(str, counts))
