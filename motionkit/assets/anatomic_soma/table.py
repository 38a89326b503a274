"""The table that ``anatomic_soma`` is built from, with the source of every figure.

Frame: at rest the robot faces +X, +Y is its left, +Z up; metres, kilograms, degrees. Sided
parts are given for the right; the left has the mirrored shape, the same mass, and ranges that
are negated and swapped, so that ``q_left = -q_right`` mirrors a pose.

Sources, by the names used below:

- ``soma23``: offsets, masses and limb shapes of the public SOMA23 humanoid, NVlabs/ProtoMotions
  at 607ca7a0, ``soma23_humanoid.xml`` (Apache-2.0), turned 90° about +Z. Its left and right
  offsets differ by up to 2.7 mm, and its neck stands 1.8 mm to the right; both are kept, so that
  SOMA23 motion fits without change.
- ``docs``: ProtoMotions' description of its "Anatomical SOMA": structure, hinge orders, axes,
  the range of Neck2, the two reduced radii, motor classes. That asset itself was not used.
- ranges: :data:`RANGE_SOURCES`.
"""

from dataclasses import dataclass

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Capsule:
    """A segment with a radius, in the frame of its body."""

    start: Vector
    """One end of the segment [m]."""
    end: Vector
    """The other end [m]."""
    radius: float
    """Radius [m]."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box along the axes of its body."""

    center: Vector
    """Centre [m]."""
    half: Vector
    """Half lengths [m]."""


@dataclass(frozen=True, slots=True)
class Rails:
    """A sole: five capsules along +X that fill the bottom of a box; the box gives the inertia."""

    box: Box
    """The part as a solid."""
    radius: float
    """Radius of each rail [m]."""
    spacing: float
    """Distance between neighbouring rails across the foot [m]."""


@dataclass(frozen=True, slots=True)
class Hinge:
    """One scalar hinge of a part, for the right side or the centre."""

    letter: str
    """x, y or z: SOMA's name of the axis, which is ±Y, -X and +Z here."""
    low: float
    """Lower limit [deg]."""
    high: float
    """Upper limit [deg]."""
    source: str
    """Where the limits come from: a key of :data:`RANGE_SOURCES`."""
    along: str = ""
    """Part towards which the axis points at rest; empty for a coordinate axis."""


@dataclass(frozen=True, slots=True)
class Part:
    """A semantic body; ``Right`` and ``Left`` go before the name if it is sided."""

    name: str
    """Name without the side."""
    parent: str
    """Part that it hangs from, without the side; empty for the root."""
    offset: Vector
    """Origin in the parent's frame at rest [m] (soma23), of the right or only one."""
    left_offset: Vector | None
    """The same of the left one; ``None`` for a part of the centre line."""
    hinges: tuple[Hinge, ...]
    """From the parent outwards (docs)."""
    shape: Capsule | Box | Rails
    """Collision geometry and solid for the inertia."""
    mass: float
    """With its hinge carriers [kg] (soma23: 1000 kg/m³ over its geometry)."""


@dataclass(frozen=True, slots=True)
class Motor:
    """A motor class: a Unitree G1 class with more torque, rotor inertia and speed (docs)."""

    name: str
    """Class name in the MJCF."""
    joints: tuple[str, ...]
    """Shell patterns of the joints that it drives; each joint matches one class."""
    base_armature: float
    """Reflected rotor inertia of the G1 class [kg m²] (BeyondMimic, whole_body_tracking)."""
    base_effort: float
    """Torque limit of the G1 class [N m]."""
    base_speed: float
    """Speed limit of the G1 class [rad/s]."""


EFFORT_FACTOR = 1.25  # docs: torque and armature over the G1 class
SPEED_FACTOR = 1.5  # docs: speed over the G1 class
NATURAL_HZ = 10.0  # docs: of the rotor inertia alone on its spring
DAMPING_RATIO = 2.0  # docs: of the rotor inertia alone

MOTORS = (
    Motor("M_7520_14", ("Spine[12]_*", "Chest_*", "*Leg_[xz]"), 0.01017752, 88.0, 32.0),
    Motor("M_7520_22", ("*Leg_y", "*Shin_x"), 0.025101925, 139.0, 20.0),
    Motor("M_2x5020", ("*Foot_*",), 0.00721945, 50.0, 37.0),
    Motor("M_5020", ("Neck1_*", "*Shoulder_*", "*Arm_*", "*ToeBase_x"), 0.003609725, 25.0, 37.0),
    Motor("M_4010", ("Neck2_z", "Head_*", "*Hand_*"), 0.00425, 5.0, 22.0),
)

RANGE_SOURCES = {
    "docs": "ProtoMotions' description of its Anatomical SOMA: ±30",
    "lumbar": "Spine1 + Spine2 = the lumbar spine: flexion 75, extension 30, side 35 (Very Focus, "
    "normal joint range of motion)",
    "thorax": "Chest = the thoracic spine: no table found for it as one joint; flexion 45 leaves "
    "the SOMA23 clip (35) 10 spare",
    "twist": "Spine1 + Spine2 + Chest = 45: AMA, in Kosmahl, Goniometry, University of Scranton "
    "1999, thoraco-lumbar rotation",
    "neck": "Neck1 + Head = the cervical spine: flexion 64 and side 49 (Savlovskis, Anatomy "
    "Standard, ROM of the spine), extension 80 (Muscolino, cervical spine ranges of motion); "
    "rounded to 5",
    "neck_twist": "Neck1 + Neck2 + Head = 90 (tables: 80 to 90); 45% of it in the upper cervical "
    "spine, here Head (Muscolino)",
    "girdle": "sternoclavicular elevation 45, depression 5 to 10, pro- and retraction 15 to 30, "
    "axial rotation 40 to 45, plus 20 to 30 at the acromioclavicular joint (AccessPhysiotherapy, "
    "Range of motion for diarthrodial joints)",
    "shoulder": "flexion 156 to 188, abduction 165 to 188, extension 44 to 70, medial rotation "
    "49 to 94 (Norkin and White, Measurement of Joint Motion, table A.1); horizontal adduction "
    "130 (Very Focus), cut to 85 as the middle hinge; 25 across the trunk",
    "elbow": "flexion 140 to 150 (Norkin and White, table A.1), 160 (Merck Manual); 10 beyond "
    "straight",
    "wrist": "flexion 60 to 93, extension 60 to 86 (Norkin and White, table A.1)",
    "forearm": "pronation 71 to 92, supination 74 to 96 (Norkin and White, table A.1), cut to 85 "
    "as the middle hinge",
    "deviation": "ulnar 26 to 45; radial 18 to 25 (Norkin and White, table A.1), widened to 30 "
    "for the SOMA23 clip (28)",
    "hip": "flexion 125 (Merck Manual), 110 to 130 (Very Focus); extension 15 to 30, widened to "
    "40 for the SOMA23 clip (33)",
    "hip_side": "abduction 45 to 50, adduction 20 to 45 (Merck Manual; fpnotebook, hip range)",
    "hip_twist": "external rotation 40 to 60, internal 30 to 45 (fpnotebook; Merck Manual)",
    "knee": "130 (Merck Manual) to 150 unloaded, 140 kneeling (PMC3468826), 100 to 160 in and out "
    "of a bath (Walker et al.); 10 beyond straight",
    "ankle": "plantarflexion 50 (Merck Manual), 40 to 60 elsewhere; dorsiflexion 20 unloaded, 36 "
    "to 38 kneeling (PMC3468826), widened to 45 for the SOMA23 clip (38)",
    "subtalar": "inversion 35, eversion 25 (Merck Manual)",
    "foot_twist": "no table: stands also for the twist of the flexed knee, which has no hinge",
    "toe": "metatarsophalangeal extension 80, flexion 30 (Merck Manual)",
}
"""Published figures [deg]; where a range of figures is given, the largest was taken."""


def _center(name: str, parent: str, offset: Vector, hinges: tuple[Hinge, ...],
            shape: Capsule | Box, mass: float) -> Part:  # fmt: skip
    return Part(name, parent, offset, None, hinges, shape, mass)


def _across(x: float, z: float, half: float, radius: float) -> Capsule:
    """A horizontal capsule from side to side."""
    return Capsule((x, -half, z), (x, half, z), radius)


PARTS = (
    _center("Hips", "", (0.0, 0.0, 0.0), (), _across(0.03, -0.005, 0.055, 0.085), 2.144661),
    _center("Spine1", "Hips", (-0.0005, 0.0, 0.05),
            (Hinge("z", -15, 15, "twist"), Hinge("y", -20, 20, "lumbar"),
             Hinge("x", -15, 40, "lumbar")),
            _across(0.03, 0.05, 0.05, 0.075), 0.904779),
    _center("Spine2", "Spine1", (-0.0003, 0.0, 0.0713),
            (Hinge("z", -15, 15, "twist"), Hinge("y", -15, 15, "lumbar"),
             Hinge("x", -15, 35, "lumbar")),
            _across(0.04, 0.06, 0.055, 0.08), 1.436755),
    _center("Chest", "Spine2", (-0.0082, 0.0, 0.0755),
            (Hinge("z", -15, 15, "twist"), Hinge("y", -20, 20, "thorax"),
             Hinge("x", -20, 45, "thorax")),
            _across(0.04, 0.12, 0.055, 0.105), 5.57528),
    _center("Neck1", "Chest", (-0.0055, -0.0018, 0.2631),
            (Hinge("z", -20, 20, "neck_twist"), Hinge("y", -25, 25, "neck"),
             Hinge("x", -40, 30, "neck")),
            Capsule((0.03, 0.0, 0.0), (0.03, 0.0, 0.07), 0.029), 0.619941),
    _center("Neck2", "Neck1", (0.023, 0.0, 0.0771), (Hinge("z", -30, 30, "docs", along="Head"),),
            Capsule((0.0, 0.0, 0.0), (0.01, 0.0, 0.05), 0.04), 0.524387),
    _center("Head", "Neck2", (0.0195, 0.0, 0.0613),
            (Hinge("z", -40, 40, "neck_twist"), Hinge("y", -25, 25, "neck"),
             Hinge("x", -40, 35, "neck")),
            Box((-0.02, 0.0, 0.07), (0.075, 0.075, 0.105)), 4.725),
    Part("Shoulder", "Chest", (0.0521, -0.0138, 0.2318), (0.0511, 0.0162, 0.2324),
         (Hinge("x", -30, 30, "girdle"), Hinge("y", -20, 50, "girdle"),
          Hinge("z", -35, 45, "girdle")),
         Capsule((-0.03, -0.045, 0.0), (-0.03, -0.11, 0.0), 0.033), 0.795216),
    Part("Arm", "Shoulder", (-0.0555, -0.1504, 0.0), (-0.055, 0.1492, 0.0),
         (Hinge("x", -180, 95, "shoulder"), Hinge("z", -85, 85, "shoulder"),
          Hinge("y", -115, 95, "shoulder")),
         Capsule((0.0, -0.045, 0.0), (0.0, -0.24, 0.0), 0.045), 1.62224),
    Part("ForeArm", "Arm", (0.0, -0.2874, 0.0), (0.0, 0.2874, 0.0),
         (Hinge("z", -10, 155, "elbow"),),
         Capsule((0.0, -0.04, 0.0), (0.0, -0.23, 0.0), 0.035), 0.9108),
    Part("Hand", "ForeArm", (0.0, -0.2713, 0.0), (0.0, 0.2709, 0.0),
         (Hinge("y", -85, 85, "wrist"), Hinge("x", -85, 85, "forearm"),
          Hinge("z", -45, 30, "deviation")),
         Capsule((0.0, -0.02, 0.0), (0.011, -0.05, -0.008), 0.05), 0.782304),
    Part("Leg", "Hips", (0.0262, -0.1005, -0.083), (0.026, 0.1004, -0.0843),
         (Hinge("x", -130, 40, "hip"), Hinge("y", -35, 50, "hip_side"),
          Hinge("z", -60, 45, "hip_twist")),
         Capsule((0.0, 0.0, 0.0), (0.0, 0.0, -0.37), 0.06), 5.08938),
    Part("Shin", "Leg", (-0.0081, 0.0, -0.4336), (-0.008, 0.0, -0.4322),
         (Hinge("x", -10, 155, "knee"),),
         Capsule((0.0, 0.0, -0.05), (0.0, 0.0, -0.385), 0.05), 3.036873),
    Part("Foot", "Shin", (-0.0348, 0.0, -0.4212), (-0.0348, 0.0, -0.4216),
         (Hinge("x", -45, 60, "ankle"), Hinge("y", -35, 25, "subtalar"),
          Hinge("z", -40, 40, "foot_twist")),
         Rails(Box((0.045, 0.0, -0.017), (0.075, 0.045, 0.028)), 0.009, 0.018), 0.756),
    Part("ToeBase", "Foot", (0.1328, 0.0, -0.0508), (0.1323, 0.0, -0.0506),
         (Hinge("x", -80, 30, "toe"),),
         Rails(Box((0.012, 0.0, 0.027), (0.032, 0.05, 0.0215)), 0.010, 0.020), 0.2752),
)  # fmt: skip
"""Parents before children, the centre line first."""

NEAR_PAIRS = (
    ("Hips", "Spine2"), ("Spine1", "Chest"), ("Spine1", "Neck1"), ("Spine2", "Neck1"),
    ("Spine2", "Neck2"), ("Chest", "Neck2"), ("Chest", "Head"), ("Neck1", "Head"),
    ("Chest", "RightArm"), ("Spine2", "RightArm"), ("Chest", "LeftArm"), ("Spine2", "LeftArm"),
)  # fmt: skip
"""Neighbours beyond parent and child that do not collide, the pairs of soma23."""

CARRIER_FRACTION = 0.02  # of the mass of a part, for each of its two hinge carriers; ours
CARRIER_RADIUS = 0.02  # [m], of the ball that gives a carrier its inertia; ours

HUMAN = {
    "Hips": "pelvis",
    "Spine1": "spine1",
    "Spine2": "spine2",
    "Chest": "spine3",
    "Neck1": "neck",
    "Head": "head",
    "Shoulder": "collar",
    "Arm": "shoulder",
    "ForeArm": "elbow",
    "Hand": "wrist",
    "Leg": "hip",
    "Shin": "knee",
    "Foot": "ankle",
    "ToeBase": "foot",
}
"""SMPL-H joint of each part, without the side. Neck2 has none: SMPL-H has one neck joint."""

LEADING = frozenset({"Hand", "Foot", "ToeBase", "Head", "Chest"})
"""Parts that are followed with full weight (docs)."""
INTERMEDIATE_POSITION = 0.25  # docs: a quarter
INTERMEDIATE_ROTATION = 0.125  # ours; docs: reduced further than the position

MAX_VELOCITY = 20.0  # [rad/s], docs
MAX_ACCELERATION = 300.0  # [rad/s²], docs
ANCHOR = "Chest"  # docs
TRACKED = ("Chest", "Head", "LeftHand", "RightHand", "LeftFoot", "RightFoot")  # docs
