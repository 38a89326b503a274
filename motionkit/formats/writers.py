"""Which program or data set a skeleton comes from, by the names that only it uses.

For people to read, and for nothing else: no decision rests on it.
"""

_FAMILIES: tuple[tuple[str, frozenset[str]], ...] = (
    ("Rokoko", frozenset({"Hips", "Spine2", "LeftInHandIndex", "LeftHandIndex3", "LeftToeBase"})),
    ("Noitom Axis Neuron", frozenset({"Hips", "RightInHandIndex", "Spine3", "LeftHandThumb3"})),
    ("SOMA", frozenset({"Root", "Hips", "LeftShin", "Neck2", "LeftHandThumbEnd"})),
    ("CMU (cgspeed)", frozenset({"LHipJoint", "LeftHip", "lowerback", "lhand"})),
    ("CMU (Bruce Hahne)", frozenset({"LHipJoint", "LeftUpLeg", "LowerBack", "LeftFingerBase"})),
    ("CMU (ASF names)", frozenset({"lhipjoint", "lfemur", "ltibia", "lhumerus"})),
    ("LAFAN1", frozenset({"Hips", "LeftUpLeg", "LeftToe", "Spine2", "LeftForeArm"})),
    ("Xsens MVN", frozenset({"Hips", "Chest4", "RightCollar", "RightWrist", "RightToe"})),
    ("Bandai Namco", frozenset({"joint_Root", "Hips", "UpperArm_L", "LowerLeg_R"})),
    ("MakeHuman", frozenset({"upperleg01.R", "lowerleg01.R", "spine05", "wrist.L"})),
    ("MakeHuman", frozenset({"__UpLeg_L", "UpLeg_L", "LoLeg_L", "__Clavicle_L"})),
    ("Geno", frozenset({"Hips", "RightForeArmEnd", "RightArmEnd", "HeadEnd"})),
    ("OptiTrack Motive", frozenset({"Hip", "Ab", "LUArm", "LFArm", "LThigh"})),
    ("Unreal", frozenset({"pelvis", "spine_01", "thigh_l", "calf_l", "clavicle_l"})),
    ("DAZ or Poser", frozenset({"hip", "abdomen", "lThigh", "lShin"})),
    ("SMPL", frozenset({"Pelvis", "L_Hip", "L_Knee", "L_Ankle", "L_Collar"})),
    ("SMPL", frozenset({"pelvis", "left_hip", "left_knee", "left_collar"})),
    ("Xsens-like", frozenset({"Hips", "Chest", "LeftCollar", "LeftHip", "LeftAnkle"})),
    ("HumanIK", frozenset({"Hips", "LeftUpLeg", "LeftForeArm", "LeftToeBase", "RightHand"})),
    ("HumanIK", frozenset({"Hips", "LeftUpLeg", "LeftForeArm", "LeftFoot", "RightHand"})),
)


def find_writer(names: tuple[str, ...]) -> str:
    """The family whose names all occur, or ``unknown``."""
    if any(name.lower().startswith(("mixamorig:", "mixamorig_")) for name in names):
        return "Mixamo"
    if any(name.startswith(("Bip01", "Bip001", "Bip02")) for name in names):
        return "3ds Max Biped"
    bare = {name.split(":")[-1] for name in names}
    bare |= {name.removeprefix("Character1_") for name in bare}
    return next((family for family, marks in _FAMILIES if marks <= bare), "unknown")
