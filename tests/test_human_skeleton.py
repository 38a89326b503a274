import numpy as np
import pytest
from builders import random_quats

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS
from motionkit.errors import ConfigError
from motionkit.human import embedded_body
from motionkit.human.skeleton import LIMBS, forward, stature_from_bones

J = {name: i for i, name in enumerate(SMPLH_JOINTS)}


def test_the_embedded_body_stands_in_the_tpose():
    body = embedded_body(1.0)
    rest = body.rest_pos
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for near, far, direction in (
            ("hip", "knee", (0, 0, -1)), ("knee", "ankle", (0, 0, -1)),
            ("shoulder", "elbow", (0, sign, 0)), ("elbow", "wrist", (0, sign, 0)),
            ("index1", "pinky1", (-1, 0, 0)),
        ):  # fmt: skip
            bone = rest[J[f"{side}_{far}"]] - rest[J[f"{side}_{near}"]]
            across = bone - (bone @ direction) * np.array(direction)
            assert bone @ direction > 0
            assert np.linalg.norm(across) < (0.02 if near == "index1" else 1e-12), near
        foot = rest[J[f"{side}_foot"]] - rest[J[f"{side}_ankle"]]
        assert foot[0] > 0
        assert foot[1] == 0
        assert foot[2] == pytest.approx(body.toe_height - body.ankle_height)
        thumb = rest[J[f"{side}_thumb2"]] - rest[J[f"{side}_wrist"]]
        assert thumb[0] > 0  # palms down
    np.testing.assert_array_equal(rest[0], 0.0)


def test_the_embedded_body_is_its_own_mirror_image():
    rest = embedded_body(1.7).rest_pos
    for name, i in J.items():
        if name.startswith("left_"):
            mirrored = rest[J["right_" + name.removeprefix("left_")]] * [1.0, -1.0, 1.0]
            np.testing.assert_allclose(rest[i], mirrored, atol=1e-15)


def test_lengths_are_those_of_the_tables():
    """Drillis & Contini as in Winter: heights and lengths as shares of stature."""
    body = embedded_body(1.0)
    height = body.rest_pos[:, 2] - body.rest_pos[J["left_ankle"], 2] + 0.039
    for joint, share in (("left_knee", 0.285), ("right_hip", 0.530), ("left_shoulder", 0.818)):
        assert height[J[joint]] == pytest.approx(share)
    for near, far, share in (("elbow", "shoulder", 0.186), ("wrist", "elbow", 0.146)):
        bone = body.rest_pos[J[f"left_{near}"]] - body.rest_pos[J[f"left_{far}"]]
        assert np.linalg.norm(bone) == pytest.approx(share)
    assert 2 * body.rest_pos[J["left_shoulder"], 1] == pytest.approx(0.258)
    assert body.ankle_height == 0.039


@pytest.mark.parametrize("stature", [0.9, 1.7, 2.3])
def test_the_embedded_body_scales_with_stature(stature):
    body, unit = embedded_body(stature), embedded_body(1.0)
    np.testing.assert_allclose(body.rest_pos, stature * unit.rest_pos, rtol=1e-14)
    assert body.ankle_height == pytest.approx(stature * unit.ankle_height)
    rest = body.rest_pos
    length = {
        (near, far): float(np.linalg.norm(rest[J[f"left_{near}"]] - rest[J[f"left_{far}"]]))
        for near, far, _ in LIMBS
    }
    assert stature_from_bones(length) == pytest.approx(stature, rel=1e-12)


def test_a_stature_that_is_nobodys_is_refused():
    with pytest.raises(ConfigError) as caught:
        embedded_body(170.0)
    assert str(caught.value) == "stature is 170 m, expected 0.5 to 2.6"
    assert caught.value.help == "give --stature in metres"


@pytest.mark.parametrize("frames", [1, 2, 7])
def test_forward_kinematics_is_the_product_of_local_transforms(frames):
    """Against a chain of homogeneous matrices."""
    rng = np.random.default_rng(frames)
    rest = embedded_body(1.6).rest_pos
    local, root = random_quats(rng, frames, 52), rng.normal(size=(frames, 3))
    quat, world = np.empty_like(local), np.empty((frames, 52, 4, 4))
    for i, parent in enumerate(SMPLH_PARENTS):
        step = np.zeros((frames, 4, 4))
        step[:, 3, 3] = 1.0
        step[:, :3, :3] = rotation.to_matrix(local[:, i])
        step[:, :3, 3] = root if parent < 0 else rest[i] - rest[parent]
        world[:, i] = step if parent < 0 else world[:, parent] @ step
        quat[:, i] = local[:, i] if parent < 0 else rotation.multiply(quat[:, parent], local[:, i])
    np.testing.assert_allclose(forward(rest, root, quat), world[:, :, :3, 3], atol=1e-12)


def test_the_tpose_is_the_identity():
    rest = embedded_body(1.8).rest_pos
    quat = np.tile(rotation.IDENTITY, (1, 52, 1))
    np.testing.assert_allclose(forward(rest, np.zeros((1, 3)), quat)[0], rest, atol=1e-15)
