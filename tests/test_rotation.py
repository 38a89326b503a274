import numpy as np
import pytest
from builders import random_quats, smooth_quats
from jaxtyping import TypeCheckError
from scipy.spatial.transform import Rotation

from motionkit import rotation
from motionkit.errors import InputError

EPS = 4e-15  # a few roundings of numbers of size one
N = 600


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def oracle(quat):
    return Rotation.from_quat(rotation.to_xyzw(quat))


def same_rotation(a, b):
    """Largest distance of two rotations as matrices: blind to signs, sharp at every angle."""
    return np.abs(rotation.to_matrix(a) - rotation.to_matrix(b)).max()


def test_shapes_are_checked_while_testing():
    with pytest.raises(TypeCheckError):
        rotation.normalize(np.ones((5, 3)))


def test_matrices_and_rotated_vectors_are_those_of_scipy(rng):
    quat, vector = random_quats(rng, N), rng.normal(size=(N, 3))
    np.testing.assert_allclose(rotation.to_matrix(quat), oracle(quat).as_matrix(), atol=EPS)
    np.testing.assert_allclose(rotation.rotate(quat, vector), oracle(quat).apply(vector), atol=EPS)


def test_products_and_inverses_are_those_of_scipy(rng):
    a, b = random_quats(rng, N), random_quats(rng, N)
    product = rotation.to_matrix(rotation.multiply(a, b))
    np.testing.assert_allclose(product, (oracle(a) * oracle(b)).as_matrix(), atol=EPS)
    assert same_rotation(rotation.multiply(a, rotation.conjugate(a)), rotation.IDENTITY) < EPS


def test_multiply_and_rotate_broadcast_leading_axes(rng):
    a, b, v = random_quats(rng, 5, 1), random_quats(rng, 7), rng.normal(size=(7, 3))
    assert rotation.multiply(a, b).shape == (5, 7, 4)
    np.testing.assert_array_equal(rotation.multiply(a, b)[2, 3], rotation.multiply(a[2, 0], b[3]))
    np.testing.assert_array_equal(rotation.rotate(a, v)[2, 3], rotation.rotate(a[2, 0], v[3]))


def test_matrix_round_trip_keeps_the_rotation_at_every_angle(rng):
    quat = random_quats(rng, N)
    half_turns = np.concatenate([np.zeros((3, 1)), np.eye(3)], axis=1)
    quat = np.concatenate([quat, half_turns, rotation.IDENTITY[None]])
    back = rotation.from_matrix(rotation.to_matrix(quat))
    assert same_rotation(back, quat) < EPS
    np.testing.assert_allclose(np.linalg.norm(back, axis=-1), 1.0, atol=EPS)


def test_rotation_vectors_are_those_of_scipy(rng):
    quat = random_quats(rng, N)
    angle = rotation.to_rotvec(quat)
    ours = rotation.from_rotvec(angle)
    assert same_rotation(ours, quat) < EPS
    assert np.linalg.norm(angle, axis=-1).max() <= np.pi + EPS
    # Close to a half turn the sign of the vector is decided by rounding.
    near_half = np.linalg.norm(angle, axis=-1) > 3.0
    np.testing.assert_allclose(angle[~near_half], oracle(quat).as_rotvec()[~near_half], atol=1e-14)


def test_small_rotation_vectors_keep_their_relative_accuracy(rng):
    rotvec = rng.normal(size=(N, 3)) * 10.0 ** rng.uniform(-300, -1, size=(N, 1))
    back = rotation.to_rotvec(rotation.from_rotvec(rotvec))
    np.testing.assert_allclose(back, rotvec, rtol=1e-14, atol=0)


def test_long_rotation_vectors_go_round(rng):
    rotvec = rng.normal(scale=10, size=(N, 3))
    matrix = Rotation.from_rotvec(rotvec).as_matrix()
    np.testing.assert_allclose(rotation.to_matrix(rotation.from_rotvec(rotvec)), matrix, atol=1e-13)
    assert np.all(rotation.to_rotvec(rotation.from_rotvec(np.zeros((2, 3)))) == 0)


@pytest.mark.parametrize("order", ["ZYX", "ZXY", "XYZ", "YXZ", "XZY", "YZX", "XYX", "Z", "ZX"])
def test_euler_angles_are_intrinsic_as_in_scipy(rng, order):
    angles = rng.uniform(-np.pi, np.pi, size=(50, len(order)))
    wanted = Rotation.from_euler(order, angles).as_matrix()
    np.testing.assert_allclose(
        rotation.to_matrix(rotation.from_euler(order, angles)), wanted, atol=EPS
    )


def test_xyzw_is_another_order_of_the_same_numbers(rng):
    quat = random_quats(rng, 20)
    np.testing.assert_array_equal(rotation.from_xyzw(rotation.to_xyzw(quat)), quat)
    np.testing.assert_array_equal(rotation.to_xyzw(quat)[:, 3], quat[:, 0])


def test_unroll_changes_signs_only_and_leaves_no_jump(rng):
    quat = smooth_quats(rng, 80, 5) * rng.choice([-1.0, 1.0], size=(80, 5, 1))
    out = rotation.unroll(quat)
    np.testing.assert_array_equal(np.abs(out), np.abs(quat))
    assert np.all(np.sum(out[1:] * out[:-1], axis=-1) >= 0)
    np.testing.assert_array_equal(out[0], quat[0])
    np.testing.assert_array_equal(rotation.unroll(quat[:1]), quat[:1])


def test_between_takes_one_direction_to_the_other_by_the_shortest_way(rng):
    a = rng.normal(size=(N, 3))
    b = rng.normal(size=(N, 3))
    b[::3] = -a[::3] * rng.uniform(0.5, 2, size=(len(a[::3]), 1))  # opposite
    b[1::3] = -a[1::3] + 10.0 ** rng.uniform(-14, -4, size=(len(a[1::3]), 1)) * b[1::3]
    quat = rotation.between(a, b)
    unit_a, unit_b = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (a, b))
    np.testing.assert_allclose(np.linalg.norm(quat, axis=-1), 1.0, atol=1e-14)
    # Between opposite directions up to 1e-8 apart the axis is free, and that much is the error.
    np.testing.assert_allclose(rotation.rotate(quat, unit_a), unit_b, atol=2e-8)
    np.testing.assert_allclose(rotation.rotate(quat, unit_a)[2::3], unit_b[2::3], atol=1e-14)
    angle = np.arctan2(np.linalg.norm(np.cross(unit_a, unit_b), axis=-1), (unit_a * unit_b).sum(-1))
    turned = rotation.angle_between(np.broadcast_to(rotation.IDENTITY, quat.shape), quat)
    np.testing.assert_allclose(turned, angle, atol=2e-8)


def test_angle_between_is_symmetric_blind_to_signs_and_at_most_pi(rng):
    a, b = random_quats(rng, N), random_quats(rng, N)
    angle = rotation.angle_between(a, b)
    np.testing.assert_allclose(angle, (oracle(a).inv() * oracle(b)).magnitude(), atol=1e-7)
    np.testing.assert_allclose(angle, rotation.angle_between(b, -a), atol=EPS)
    assert angle.max() <= np.pi and np.all(rotation.angle_between(a, -a) < 1e-15)


def test_twist_leaves_a_swing_perpendicular_to_the_axis(rng):
    quat, axis = rotation.normalize(rng.normal(size=(N, 4))), rng.normal(size=3)
    twist = rotation.twist(quat, axis)
    swing = rotation.multiply(quat, rotation.conjugate(twist))
    unit = axis / np.linalg.norm(axis)
    np.testing.assert_allclose(swing[:, 1:] @ unit, 0.0, atol=1e-13)
    np.testing.assert_allclose(np.cross(twist[:, 1:], unit), 0.0, atol=EPS)
    assert same_rotation(rotation.twist(rotation.from_rotvec(0.7 * unit), axis),
                         rotation.from_rotvec(0.7 * unit)) < EPS  # fmt: skip
    flip = rotation.from_axis_angle("X", np.asarray(np.pi))
    flip[0] = 0.0
    np.testing.assert_array_equal(
        rotation.twist(flip, np.array([0.0, 0.0, 1.0])), rotation.IDENTITY
    )


def test_yaw_reads_the_heading_of_a_turned_and_pitched_body(rng):
    heading = rng.uniform(-3.1, 3.1, size=N)
    pitch, roll = rng.uniform(-1.5, 1.5, size=(2, N))
    quat = rotation.from_euler("ZYX", np.stack([heading, pitch, roll], axis=1))
    np.testing.assert_allclose(rotation.yaw(quat), heading, atol=1e-13)


def test_slerp_turns_at_constant_speed_along_the_shorter_arc(rng):
    a, b = random_quats(rng, N), random_quats(rng, N)
    whole = rotation.angle_between(a, b)
    fraction = rng.uniform(size=N)
    middle = rotation.slerp(a, b, fraction)
    np.testing.assert_allclose(rotation.angle_between(a, middle), fraction * whole, atol=1e-13)
    np.testing.assert_allclose(rotation.angle_between(middle, b), (1 - fraction) * whole, atol=1e-7)
    assert same_rotation(rotation.slerp(a, b, np.zeros(N)), a) < EPS
    assert same_rotation(rotation.slerp(a, b, np.ones(N)), b) < EPS


@pytest.mark.parametrize("frames", [2, 3, 50])
def test_angular_velocity_recovers_a_constant_spin(rng, frames):
    fps = 30.0
    spin = rng.normal(size=3)
    spin *= 0.999 * 0.5 * np.pi * fps / np.linalg.norm(spin)  # almost a quarter turn a frame
    start = random_quats(rng, 4)
    turn = rotation.from_rotvec(np.arange(frames)[:, None] / fps * spin)
    quat = rotation.multiply(turn[:, None], start)
    quat = quat * rng.choice([-1.0, 1.0], size=(frames, 4, 1))
    found = rotation.angular_velocity(quat, fps)
    np.testing.assert_allclose(found, np.broadcast_to(spin, found.shape), atol=1e-11)


def test_angular_velocity_of_one_frame_is_refused():
    with pytest.raises(InputError, match="needs at least 2 frames, found 1"):
        rotation.angular_velocity(rotation.IDENTITY[None], 30.0)


def test_zero_vectors_give_nan_not_a_rotation():
    with np.errstate(invalid="ignore"):
        assert np.all(np.isnan(rotation.normalize(np.zeros((1, 4)))))


@pytest.mark.parametrize("order", ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"))
def test_to_euler_gives_the_rotation_back_at_every_pose(order):
    rng = np.random.default_rng(5)
    angles = rng.uniform(-np.pi, np.pi, size=(2000, 3))
    near = 10.0 ** rng.uniform(-16, -1, size=2000)
    angles[:, 1] = rng.choice([-1, 1], size=2000) * (np.pi / 2 - near)
    locked = rotation.from_euler(order, angles)
    for quat in (random_quats(rng, 2000), locked):
        found = rotation.to_euler(order, quat)
        assert np.abs(found[:, 1]).max() <= np.pi / 2
        assert rotation.angle_between(quat, rotation.from_euler(order, found)).max() < 2e-12
