from pathlib import Path

import numpy as np
import pytest
from builders import PROVENANCE, random_quats, smooth_quats

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, SmplClip
from motionkit.errors import AssetError, ConfigError
from motionkit.formats import read_clip
from motionkit.human import HumanConfig, align, embedded_body
from motionkit.human.skeleton import forward
from motionkit.human.source import LONG_BONES, index, tpose_direction

TO_TPOSE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""From the models' axes (left, up, forward) to the T-pose's (forward, left, up)."""


def smpl_clip(rng: np.random.Generator, frames: int = 6, **changes) -> SmplClip:
    values = {
        "name": "made", "fps": 60.0, "model": "smplh",
        "trans_w": rng.normal(size=(frames, 3)),
        "joint_quat": smooth_quats(rng, frames, 52),
        "betas": rng.normal(size=10), "gender": "neutral", "provenance": PROVENANCE, **changes,
    }  # fmt: skip
    return SmplClip(**values)


def made_model(rng: np.random.Generator, vertices: int = 300, shapes: int = 10) -> dict:
    """A body of random clay around the joints of the embedded skeleton, legs and arms askew."""
    joints = embedded_body(1.7).rest_pos @ TO_TPOSE + rng.normal(scale=0.02, size=(52, 3))
    regressor = rng.dirichlet(np.full(vertices, 0.05), size=52)
    template = rng.normal(scale=0.3, size=(vertices, 3))
    # The template with the wanted joints that is nearest to the random one.
    template = template + np.linalg.pinv(regressor) @ (joints - regressor @ template)
    return {
        "v_template": template,
        "shapedirs": rng.normal(scale=0.01, size=(vertices, 3, shapes)),
        "J_regressor": regressor,
        "kintree_table": np.stack([np.array(SMPLH_PARENTS) % 2**32, np.arange(52)]).astype(int),
        "posedirs": np.zeros((vertices, 3, 51 * 9), dtype=np.float32),  # joints do not feel them
        "weights": rng.dirichlet(np.ones(52), size=vertices),
        "f": rng.integers(vertices, size=(50, 3)),
    }


def write_model(folder: Path, name: str, **arrays) -> Path:
    path = folder / f"{name}.npz"
    np.savez(path, **arrays)
    return path


def lbs_joints(model: dict, clip: SmplClip) -> np.ndarray:
    """Joints of the skinned model in the world, as SMPL's paper defines them (eqs. 2 to 4)."""
    shaped = model["v_template"] + model["shapedirs"] @ clip.betas
    rest = model["J_regressor"] @ shaped
    matrices = rotation.to_matrix(clip.joint_quat)
    out = np.empty((clip.num_frames, 52, 3))
    for t in range(clip.num_frames):
        world = []
        for i, parent in enumerate(SMPLH_PARENTS):
            step = np.eye(4)
            step[:3, :3] = matrices[t, i]
            step[:3, 3] = rest[i] - (0 if parent < 0 else rest[parent])
            world.append(step if parent < 0 else world[parent] @ step)
        out[t] = np.array(world)[:, :3, 3] + clip.trans_w[t]
    return out


@pytest.mark.parametrize("seed", range(3))
def test_joints_of_a_model_are_those_of_skinning(tmp_path, seed):
    rng = np.random.default_rng(seed)
    model, clip = made_model(rng), smpl_clip(rng)
    path = write_model(tmp_path, "made", **model)
    human = align(clip, HumanConfig(smpl_model=path))
    np.testing.assert_allclose(human.landmark_pos_w, lbs_joints(model, clip), atol=1e-9)
    assert human.body.startswith("made.npz (")
    assert human.provenance.notes == ()


def test_joints_of_a_model_are_those_of_smplx(tmp_path):
    smplx = pytest.importorskip("smplx", reason="needs the extra: pip install motionkit[smpl]")
    torch = pytest.importorskip("torch", reason="needs the extra: pip install motionkit[smpl]")
    rng = np.random.default_rng(5)
    # smplx picks vertices of the real mesh by number, so the made one has as many.
    model, clip = made_model(rng, vertices=6890), smpl_clip(rng, gender="male")
    hands = {f"hands_{what}{s}": np.zeros((45, 45) if what == "components" else 45)
             for what in ("components", "mean") for s in "lr"}  # fmt: skip
    folder = tmp_path / "smplh"
    folder.mkdir()
    write_model(folder, "SMPLH_MALE", **model, **hands)
    body = smplx.SMPLH(str(folder), gender="male", ext="npz", use_pca=False, flat_hand_mean=True,
                       dtype=torch.float64)  # fmt: skip
    rotvec = torch.as_tensor(rotation.to_rotvec(clip.joint_quat))
    frames = clip.num_frames
    out = body(
        betas=torch.as_tensor(np.tile(clip.betas, (frames, 1))),
        transl=torch.as_tensor(clip.trans_w),
        global_orient=rotvec[:, 0], body_pose=rotvec[:, 1:22].reshape(frames, -1),
        left_hand_pose=rotvec[:, 22:37].reshape(frames, -1),
        right_hand_pose=rotvec[:, 37:52].reshape(frames, -1),
    )  # fmt: skip
    human = align(clip, HumanConfig(smpl_model=folder.parent))
    np.testing.assert_allclose(human.landmark_pos_w, out.joints[:, :52].detach(), atol=1e-6)


@pytest.mark.parametrize("has_model", [False, True])
def test_the_result_is_relative_to_a_straight_tpose(tmp_path, has_model):
    rng = np.random.default_rng(7)
    path = write_model(tmp_path, "made", **made_model(rng)) if has_model else None
    human = align(smpl_clip(rng), HumanConfig(smpl_model=path, stature=1.7))
    for near, far in LONG_BONES:
        bone = human.rest_pos[index(far)] - human.rest_pos[index(near)]
        np.testing.assert_allclose(bone / np.linalg.norm(bone), tpose_direction(near), atol=1e-12)
    pos = forward(human.rest_pos, human.landmark_pos_w[:, 0], human.landmark_quat_w)
    np.testing.assert_allclose(pos, human.landmark_pos_w, atol=1e-12)


def test_a_person_at_rest_in_the_model_faces_x_with_legs_a_little_apart():
    """The models' own rest pose, standing in the world: Y up becomes Z up, Z forward becomes X."""
    root = rotation.from_matrix(TO_TPOSE)
    quat = np.tile(rotation.IDENTITY, (1, 52, 1))
    quat[:, 0] = root
    human = align(
        smpl_clip(np.random.default_rng(0), 1, joint_quat=quat, trans_w=np.zeros((1, 3))),
        HumanConfig(stature=1.7),
    )
    turn = np.degrees(np.linalg.norm(rotation.to_rotvec(human.landmark_quat_w[0]), axis=1))
    swung = {near for near, _ in LONG_BONES}
    for i, name in enumerate(SMPLH_JOINTS):
        if name in swung:
            assert 0.5 < turn[i] < 8.0, name
        else:
            assert turn[i] < 1e-6, name
    width = {p: np.ptp(human.landmark_pos_w[0, [index(f"left_{p}"), index(f"right_{p}")], 1])
             for p in ("hip", "ankle")}  # fmt: skip
    assert width["ankle"] > width["hip"] + 0.03


def test_a_turn_of_the_world_turns_the_result():
    rng = np.random.default_rng(3)
    clip = smpl_clip(rng)
    turn = random_quats(rng, 1)[0]
    quat = clip.joint_quat.copy()
    quat[:, 0] = rotation.multiply(turn, quat[:, 0])
    config = HumanConfig(stature=1.8)
    human, other = align(clip, config), align(smpl_clip(rng, joint_quat=quat), config)
    expected = rotation.multiply(turn, human.landmark_quat_w)
    assert rotation.angle_between(expected, other.landmark_quat_w).max() < 1e-7
    bones, turned = (c.landmark_pos_w - c.landmark_pos_w[:, :1] for c in (human, other))
    np.testing.assert_allclose(rotation.rotate(turn, bones), turned, atol=1e-12)


def test_betas_without_a_model_are_a_finding():
    rng = np.random.default_rng(1)
    notes = align(smpl_clip(rng), HumanConfig(stature=1.8)).provenance.notes
    assert [(note.code, note.message) for note in notes] == [
        ("MK140", "10 betas could not be applied without the model; the embedded body is used")
    ]
    assert align(smpl_clip(rng, betas=None), HumanConfig(stature=1.8)).provenance.notes == ()


def test_stature_follows_from_the_pelvis_over_the_floor():
    """Standing and jumping; from whichever frames the feet are on the floor."""
    root = rotation.from_matrix(TO_TPOSE)
    quat = np.tile(rotation.IDENTITY, (20, 52, 1))
    quat[:, 0] = root
    trans = np.zeros((20, 3))
    first = align(
        smpl_clip(np.random.default_rng(0), 20, joint_quat=quat, trans_w=trans),
        HumanConfig(stature=1.8),
    )
    sole = first.landmark_pos_w[0, index("left_ankle"), 2] - first.ankle_height
    trans[:, 2] = -sole
    trans[5:12, 2] += 0.3  # in the air
    human = align(smpl_clip(np.random.default_rng(0), 20, joint_quat=quat, trans_w=trans))
    assert human.stature == pytest.approx(1.8, rel=1e-9)
    codes = {note.code: note for note in human.provenance.notes}
    assert codes["MK141"].message == (
        "stature taken for 1.80 m, from the height of the pelvis over z = 0; --stature decides "
        "otherwise"
    )
    trans[:, 2] += 5.0
    human = align(smpl_clip(np.random.default_rng(0), 20, joint_quat=quat, trans_w=trans))
    assert human.stature == 1.70


def test_more_betas_than_a_model_has_are_named(tmp_path):
    rng = np.random.default_rng(2)
    path = write_model(tmp_path, "made", **made_model(rng, shapes=4))
    human = align(smpl_clip(rng), HumanConfig(smpl_model=path))
    assert [n.message for n in human.provenance.notes] == [
        "betas 4 to 9 have no direction in made.npz"
    ]


def test_an_impossible_stature_is_refused():
    with pytest.raises(ConfigError, match="stature is 17 m"):
        align(smpl_clip(np.random.default_rng(0)), HumanConfig(stature=17.0))


def test_real_amass_stands_on_its_floor(shared):
    """The lowest 2 % of the lower sole lie within 5 cm of z = 0; the stature is a person's."""
    path = shared / "data" / "formats" / "amass" / "amass_dmpl_sample.npz"
    human = align(read_clip(path))
    feet = [index(f"{s}_{p}") for s in ("left", "right") for p in ("ankle", "foot")]
    heights = np.array([human.ankle_height, human.toe_height] * 2)
    sole = (human.landmark_pos_w[:, feet, 2] - heights).min(axis=1)
    assert abs(np.quantile(sole, 0.02)) < 0.05
    assert 1.5 < human.stature < 2.0


REFUSED = {
    "a pickle": (lambda f: (f / "made.pkl").write_bytes(b"\x80\x04."), "made.pkl",
                 "a body model is an .npz file, found .pkl"),
    "missing": (lambda f: None, "none.npz", "no such body model"),
    "not a zip": (lambda f: (f / "made.npz").write_bytes(b"PK\x03\x04zzz"), "made.npz", None),
    "keys": (lambda f: write_model(f, "made", v_template=np.zeros((3, 3))), "made.npz",
             "the model lacks shapedirs, J_regressor, kintree_table"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_no_model_is_refused_with_one_line(tmp_path, case):
    make, name, message = REFUSED[case]
    make(tmp_path)
    with pytest.raises(AssetError) as caught:
        align(smpl_clip(np.random.default_rng(0)), HumanConfig(smpl_model=tmp_path / name))
    assert "\n" not in str(caught.value)
    if message is not None:
        assert caught.value.message == message


@pytest.mark.parametrize(("key", "value"), [
    ("J_regressor", np.zeros((17, 300))), ("v_template", np.zeros((299, 3))),
    ("shapedirs", np.zeros((300, 3))), ("v_template", np.full((300, 3), np.nan)),
    ("v_template", np.array([object()] * 3)), ("v_template", np.array(["a"] * 3)),
], ids=["joints", "vertices", "flat", "nan", "objects", "text"])  # fmt: skip
def test_a_damaged_model_is_refused_with_one_line(tmp_path, key, value):
    model = {**made_model(np.random.default_rng(0)), key: value}
    path = write_model(tmp_path, "made", **model)
    with pytest.raises(AssetError) as caught:
        align(smpl_clip(np.random.default_rng(0)), HumanConfig(smpl_model=path))
    assert caught.value.where == str(path)
    assert "\n" not in str(caught.value)
