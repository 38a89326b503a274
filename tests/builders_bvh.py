"""A writer of BVH in many dialects, and a figure whose motion is known.

The figure moves in motionkit's world (metres, Z up). Each joint of the file gets a frame of its
own, so that rest poses are as arbitrary as those of real exporters.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from motionkit import rotation

# role: (parent role, vector from the parent in the T-pose facing +X, Z up [m]); stature 1.75 m
FIGURE = {
    "pelvis": (None, (0.0, 0.0, 0.0)),
    "spine1": ("pelvis", (0.0, 0.0, 0.12)),
    "spine2": ("spine1", (0.01, 0.0, 0.13)),
    "spine3": ("spine2", (-0.01, 0.0, 0.06)),
    "neck": ("spine3", (0.0, 0.0, 0.21)),
    "head": ("neck", (0.02, 0.0, 0.10)),
    **{
        f"{side}_{part}": (parent if "_" not in parent else f"{side}{parent}",
                           (x, sign * y, z))
        for side, sign in (("left", 1.0), ("right", -1.0))
        for part, parent, x, y, z in (
            ("collar", "spine3", 0.0, 0.06, 0.12),
            ("shoulder", "_collar", 0.0, 0.13, 0.0),
            ("elbow", "_shoulder", 0.0, 0.31, 0.0),
            ("wrist", "_elbow", 0.0, 0.271, 0.0),
            ("hip", "pelvis", 0.0, 0.09, -0.06),
            ("knee", "_hip", 0.0, 0.0, -0.43),
            ("ankle", "_knee", 0.0, 0.0, -0.4293),
            ("foot", "_ankle", 0.13, 0.0, -0.05),
        )
    },
}  # fmt: skip
FLOOR = 0.06 + 0.43 + 0.4293 + 0.05
STATURE = 1.75

_HUMAN_IK = {"collar": "{s}Shoulder", "shoulder": "{s}Arm", "elbow": "{s}ForeArm",
             "wrist": "{s}Hand", "hip": "{s}UpLeg", "knee": "{s}Leg", "ankle": "{s}Foot",
             "foot": "{s}ToeBase"}  # fmt: skip
_PLAIN = {part: "{s}" + part.capitalize() for part in _HUMAN_IK}
FAMILIES: dict[str, tuple[dict[str, str], tuple[str, str], dict[str, str]]] = {
    # trunk names, what stands for the sides, limb names
    "HumanIK": ({}, ("Left", "Right"), _HUMAN_IK),
    "Mixamo": ({}, ("mixamorig:Left", "mixamorig:Right"), _HUMAN_IK),
    "Vicon subject": ({}, ("Anna Lee:Left", "Anna Lee:Right"), _HUMAN_IK),
    "Character1": ({}, ("Character1_Left", "Character1_Right"), _HUMAN_IK),
    "LAFAN1": ({}, ("Left", "Right"), {**_HUMAN_IK, "foot": "{s}Toe"}),
    "SOMA": ({}, ("Left", "Right"), {**_HUMAN_IK, "hip": "{s}Leg", "knee": "{s}Shin"}),
    "Xsens": ({"spine1": "Chest", "spine2": "Chest2", "spine3": "Chest4"}, ("Left", "Right"),
              {**_PLAIN, "foot": "{s}Toe"}),
    "cgspeed": ({"spine1": "lowerback", "spine2": "Chest", "spine3": "Chest2"},
                ("Left", "Right"), {**_PLAIN, "foot": "{s}Toe"}),
    "Bandai": ({"spine1": "Spine", "spine2": "Spine2", "spine3": "Chest"}, ("L", "R"),
               {"collar": "Shoulder_{s}", "shoulder": "UpperArm_{s}", "elbow": "LowerArm_{s}",
                "wrist": "Hand_{s}", "hip": "UpperLeg_{s}", "knee": "LowerLeg_{s}",
                "ankle": "Foot_{s}", "foot": "Toes_{s}"}),
    "Biped": ({"pelvis": "Bip01 Pelvis", "spine1": "Bip01 Spine", "spine2": "Bip01 Spine1",
               "spine3": "Bip01 Spine2", "neck": "Bip01 Neck", "head": "Bip01 Head"},
              ("Bip01 L", "Bip01 R"),
              {"collar": "{s} Clavicle", "shoulder": "{s} UpperArm", "elbow": "{s} Forearm",
               "wrist": "{s} Hand", "hip": "{s} Thigh", "knee": "{s} Calf", "ankle": "{s} Foot",
               "foot": "{s} Toe0"}),
    "Unreal": ({"pelvis": "pelvis", "spine1": "spine_01", "spine2": "spine_02",
                "spine3": "spine_03", "neck": "neck_01", "head": "head"}, ("l", "r"),
               {"collar": "clavicle_{s}", "shoulder": "upperarm_{s}", "elbow": "lowerarm_{s}",
                "wrist": "hand_{s}", "hip": "thigh_{s}", "knee": "calf_{s}", "ankle": "foot_{s}",
                "foot": "ball_{s}"}),
    "SMPL": ({"pelvis": "m_avg_Pelvis", "spine1": "m_avg_Spine1", "spine2": "m_avg_Spine2",
              "spine3": "m_avg_Spine3", "neck": "m_avg_Neck", "head": "m_avg_Head"},
             ("m_avg_L_", "m_avg_R_"), {**_PLAIN}),
    "SMPL long": ({"pelvis": "pelvis", "spine1": "spine1", "spine2": "spine2", "spine3": "spine3",
                   "neck": "neck", "head": "head"}, ("left_", "right_"),
                  {part: "{s}" + part for part in _HUMAN_IK}),
    "ASF": ({"pelvis": "root", "spine1": "lowerback", "spine2": "upperback", "spine3": "thorax",
             "neck": "lowerneck", "head": "head"}, ("l", "r"),
            {"collar": "{s}clavicle", "shoulder": "{s}humerus", "elbow": "{s}radius",
             "wrist": "{s}wrist", "hip": "{s}femur", "knee": "{s}tibia", "ankle": "{s}foot",
             "foot": "{s}toes"}),
    "Motive": ({"pelvis": "Hip", "spine1": "Ab", "spine2": "Chest", "spine3": "UpperChest"},
               ("L", "R"),
               {"collar": "{s}Shoulder", "shoulder": "{s}UArm", "elbow": "{s}FArm",
                "wrist": "{s}Hand", "hip": "{s}Thigh", "knee": "{s}Shin", "ankle": "{s}Foot",
                "foot": "{s}Toe"}),
    "Rigify": ({"pelvis": "DEF-pelvis", "spine1": "DEF-spine.001", "spine2": "DEF-spine.002",
                "spine3": "DEF-spine.003", "neck": "DEF-neck", "head": "DEF-head"}, ("L", "R"),
               {"collar": "DEF-shoulder.{s}", "shoulder": "DEF-upper_arm.{s}",
                "elbow": "DEF-forearm.{s}", "wrist": "DEF-hand.{s}", "hip": "DEF-thigh.{s}",
                "knee": "DEF-shin.{s}", "ankle": "DEF-foot.{s}", "foot": "DEF-toe.{s}"}),
    "capitals": ({"pelvis": "HIPS", "spine1": "SPINE", "spine2": "SPINE1", "spine3": "SPINE2",
                  "neck": "NECK", "head": "HEAD"}, ("LEFT", "RIGHT"),
                 {part: name.upper().replace("{S}", "{s}") for part, name in _HUMAN_IK.items()}),
}  # fmt: skip
_TRUNK = {"pelvis": "Hips", "spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2",
          "neck": "Neck", "head": "Head"}  # fmt: skip


def family_names(family: str) -> dict[str, str]:
    """Role to joint name, as one family of exporters spells them."""
    trunk, sides, limbs = FAMILIES[family]
    prefix = sides[0][: -len("Left")] if sides[0].endswith("Left") else ""
    names = {role: prefix + name for role, name in _TRUNK.items()} | trunk
    for side, mark in zip(("left", "right"), sides, strict=True):
        names |= {f"{side}_{part}": name.format(s=mark) for part, name in limbs.items()}
    return names


@dataclass
class Figure:
    """A person in motion: joint positions and orientations in motionkit's world."""

    roles: list[str]
    pos: np.ndarray  # (T, J, 3) [m]
    quat: np.ndarray  # (T, J, 4)
    vectors: np.ndarray  # (J, 3) from the parent, T-pose [m]
    parents: list[int]


def walking_figure(rng: np.random.Generator, frames: int = 12, *, lying: float = 0.0) -> Figure:
    """A figure that walks along a random direction; from ``1 - lying`` on it lies on the floor."""
    roles = list(FIGURE)
    parents = [roles.index(p) if p else -1 for p, _ in FIGURE.values()]
    vectors = np.array([v for _, v in FIGURE.values()])
    time = np.arange(frames)
    swing = 0.35 * np.sin(time[:, None] * 0.7 + rng.uniform(0, 6, size=len(roles)))
    axes = rng.normal(size=(len(roles), 3)) * 0.15 + [0.0, 1.0, 0.0]
    local = rotation.from_rotvec(swing[..., None] * axes)
    yaw = rng.uniform(-np.pi, np.pi)
    heading = rotation.from_axis_angle("Z", np.full(frames, yaw))
    local[:, 0] = rotation.multiply(heading, rotation.from_rotvec(0.1 * rng.normal(size=3)))
    step = 0.05 * time[:, None] * [np.cos(yaw), np.sin(yaw), 0.0]
    root = rng.uniform(-2, 2, size=3) * [1, 1, 0] + step + [0, 0, FLOOR]
    down = time >= frames * (1.0 - lying)
    if lying:
        flat = rotation.multiply(heading, rotation.from_axis_angle("Y", np.full(frames, np.pi / 2)))
        local[down, 0] = flat[down]
        root[down, 2] = 0.15
    quat, pos = np.empty((frames, len(roles), 4)), np.empty((frames, len(roles), 3))
    for j, p in enumerate(parents):
        quat[:, j] = local[:, j] if p < 0 else rotation.multiply(quat[:, p], local[:, j])
        pos[:, j] = root if p < 0 else pos[:, p] + rotation.rotate(quat[:, p], vectors[j])
    return Figure(roles, pos, quat, vectors, parents)


@dataclass
class Dialect:
    """How a file is written."""

    family: str = "HumanIK"
    up: str = "y"
    metres: float = 0.01
    order: str = "ZXY"  # or "each": another order for every joint
    six_channels: bool = False
    static_root: bool = False
    end_sites: bool = True
    offset_six: bool = False
    relative_root: bool = False
    random_frames: bool = True
    rotation_first: bool = False
    newline: str = "\n"
    gap: str = " "
    number: str = "{:.9f}"
    frame_time: str = "0.0333333"
    replace: list[tuple[str, str]] = field(default_factory=list)
    wrap: int = 0


_UP_TO_Z = {
    "z": np.eye(3),
    "y": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "x": np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]]),
    "-z": np.diag([1, -1, -1]),
    "-y": np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "-x": np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
}
"""The turn of a file's world into Z up, written out here independently of the reader."""


def write_bvh(figure: Figure, dialect: Dialect, rng: np.random.Generator) -> bytes:
    """The figure as a file of that dialect."""
    names = family_names(dialect.family)
    turn = _UP_TO_Z[dialect.up].T.astype(float)
    frames, count = figure.pos.shape[:2]
    own = Rotation.random(count, random_state=rng) if dialect.random_frames else (
        Rotation.identity(count))  # fmt: skip
    world = Rotation.from_matrix(turn)
    file_quat = [
        world * Rotation.from_quat(rotation.to_xyzw(figure.quat[:, j])) * own[j]
        for j in range(count)
    ]
    root_pos = figure.pos[:, 0] @ turn.T / dialect.metres
    orders = [dialect.order if dialect.order != "each" else
              "".join(rng.permutation(list("XYZ"))) for _ in range(count)]  # fmt: skip
    head: list[str] = ["HIERARCHY"]
    columns: list[np.ndarray] = []

    def numbers(values) -> str:
        return dialect.gap.join(dialect.number.format(v) for v in values)

    def channels(j: int, offset: np.ndarray, pos: np.ndarray | None) -> str:
        parent = figure.parents[j]
        turned = file_quat[j] if parent < 0 else file_quat[parent].inv() * file_quat[j]
        angles = turned.as_euler(orders[j], degrees=True)
        rotations = [f"{axis}rotation" for axis in orders[j]]
        if pos is None and not dialect.six_channels:
            columns.append(angles)
            return f"CHANNELS 3 {' '.join(rotations)}"
        axes = rng.permutation(3)
        pos = np.tile(offset, (frames, 1)) if pos is None else pos
        positions = [f"{'XYZ'[a]}position" for a in axes]
        both = [positions, rotations], [pos[:, axes], angles]
        listed, values = [b[::-1] for b in both] if dialect.rotation_first else both
        columns.extend(values)
        return f"CHANNELS 6 {' '.join(listed[0] + listed[1])}"

    def joint(j: int, depth: int) -> None:
        pad, parent = "\t" * depth, figure.parents[j]
        if parent < 0:
            offset, pos = np.array([0.0, 0.0, 0.0]), root_pos
            if dialect.relative_root:
                offset = _UP_TO_Z[dialect.up].T @ [0.0, 0.0, FLOOR] / dialect.metres
                pos = root_pos - offset
        else:
            offset, pos = own[parent].inv().apply(figure.vectors[j]) / dialect.metres, None
        kind = "ROOT" if parent < 0 and not dialect.static_root else "JOINT"
        head.append(f"{pad}{kind} {names[figure.roles[j]]}")
        head.append(f"{pad}{{")
        extra = dialect.gap + numbers([0, 0, 0]) if dialect.offset_six else ""
        head.append(f"{pad}\tOFFSET{dialect.gap}{numbers(offset)}{extra}")
        head.append(f"{pad}\t{channels(j, offset, pos)}")
        children = [c for c, p in enumerate(figure.parents) if p == j]
        for child in rng.permutation(children):
            joint(int(child), depth + 1)
        if not children and dialect.end_sites:
            head.append(f"{pad}\tEnd Site\n{pad}\t{{\n{pad}\t\tOFFSET 0 0 1\n{pad}\t}}")
        head.append(f"{pad}}}")

    if dialect.static_root:
        head.append("ROOT World\n{\n\tOFFSET 0 0 0\n\tCHANNELS 6 Xposition Yposition Zposition "
                    "Zrotation Xrotation Yrotation")  # fmt: skip
        columns.append(np.zeros((frames, 6)))
        joint(0, 1)
        head.append("}")
    else:
        joint(0, 0)
    head += ["MOTION", f"Frames:{dialect.gap}{frames}", f"Frame Time: {dialect.frame_time}"]
    rows = np.concatenate(columns, axis=1)
    lines = [numbers(row) for row in rows]
    if dialect.wrap:
        lines = [dialect.gap.join(w) + dialect.newline for line in lines
                 for w in _chunks(line.split(dialect.gap), dialect.wrap)]  # fmt: skip
    text = "\n".join(head + lines) + "\n"
    for old, new in dialect.replace:
        text = text.replace(old, new)
    return text.replace("\n", dialect.newline).encode()


def _chunks(words: list[str], size: int) -> list[list[str]]:
    return [words[i : i + size] for i in range(0, len(words), size)]
