"""A first guess of stature and poses, from the nominal places of markers alone.

Part by part from the pelvis down, the rotation that best turns the places of its markers, and the
centres of the joints below that markers show, onto where they were seen (Wahba's problem, solved by
the singular value decomposition, Markley 1988), held a little by the part above. The trunk is one
rigid part in it.
"""

import numpy as np
from jaxtyping import Bool, Float

from motionkit.human.markers import body
from motionkit.human.markers.objective import Markers, Pose

Array = np.ndarray

STATURES = (0.9, 2.3)
"""Range of a first guess [m]."""
_HOLD = 1e-3  # [m²], how firmly a part keeps the rotation of the part above: markers 3 cm apart
_HINGE = 2.5e-3  # [m²], how firmly a bent knee or elbow turns the part above: an arm of 5 cm
_HINGES = {  # part: its hinge, the joint after that, and where upper × lower points when it is bent
    body.INDEX[f"{side}_{upper}"]: (
        body.INDEX[f"{side}_{middle}"],
        body.INDEX[f"{side}_{end}"],
        axis,
    )
    for side, sign in (("left", -1.0), ("right", 1.0))
    for upper, middle, end, axis in (
        ("hip", "knee", "ankle", (0.0, 1.0, 0.0)),
        ("shoulder", "elbow", "wrist", (0.0, 0.0, sign)),
    )
}
_TRUNK = ("pelvis", "spine1", "spine2", "spine3", "left_collar", "right_collar")
_PASSES = 3
_FAR = 0.10  # [m] from its place, beyond which a marker loses weight in the next pass
_NEAR = 0.045  # of the height of the joints: a marker this near to one tells where it is


def first_stature(
    markers: Markers, nominal: Float[Array, "K 3"], mean: Float[Array, "22 3"]
) -> float:
    """Stature that the spread of the markers suggests [m].

    The root mean square distance of markers from their middle, against that of the mean pose:
    joints that bend change it by some per cent, which is good enough for a start.
    """
    T_pose = body.mean_pose()[None]
    x, R = body.forward(mean, np.zeros((1, 3)), T_pose)
    m = x[0, markers.part] + (R[0, markers.part] @ nominal[..., None])[..., 0]
    ratios = []
    for t in np.unique(np.linspace(0, len(markers.pos) - 1, 200).astype(int)):
        on = markers.seen[t]
        if on.sum() < 4:
            continue
        have = np.sqrt(np.mean(np.sum((markers.pos[t, on] - markers.pos[t, on].mean(0)) ** 2, 1)))
        want = np.sqrt(np.mean(np.sum((m[on] - m[on].mean(0)) ** 2, 1)))
        ratios.append(have / want)
    return float(np.clip(np.quantile(ratios, 0.8), *STATURES))


def first_pose(markers: Markers, offsets: Float[Array, "22 3"], place: Float[Array, "K 3"]) -> Pose:
    """Poses of all frames; a part that no marker shows keeps the mean pose.

    Done :data:`_PASSES` times, each with less weight on markers that the one before left far off.
    """
    pose = _chain_pose(markers, markers.seen.astype(float), offsets, place)
    for _ in range(_PASSES - 1):
        x, R = body.forward(offsets, pose.root, pose.local)
        model = x[:, markers.part] + (R[:, markers.part] @ place[..., None])[..., 0]
        off = np.sum((model - markers.pos) ** 2, axis=-1)
        weight = markers.seen * (_FAR**2 / (_FAR**2 + off)) ** 2
        pose = _chain_pose(markers, weight, offsets, place)
    return pose


def _chain_pose(
    markers: Markers, weight: Float[Array, "T K"], offsets: Float[Array, "22 3"],
    place: Float[Array, "K 3"],
) -> Pose:  # fmt: skip
    frames = len(markers.pos)
    mean = body.mean_pose()
    local = np.tile(mean, (frames, 1, 1, 1))
    _, R0 = body.forward(offsets, np.zeros((1, 3)), np.tile(np.eye(3), (1, 22, 1, 1)))
    x0, _ = body.forward(offsets, np.zeros((1, 3)), R0)
    trunk = np.isin(markers.part, [body.INDEX[name] for name in _TRUNK])
    rigid = x0[0, markers.part] + place  # in the T-pose, where the trunk is one part
    near, shown = _joints_shown(markers, weight, rigid, x0[0])
    root, turn = _place_trunk(markers, weight, rigid, trunk, near, shown, x0[0])
    local[:, 0] = turn
    x, R = np.empty((frames, 22, 3)), np.empty((frames, 22, 3, 3))
    x[:, 0], R[:, 0] = root, turn
    for i in range(1, 22):
        p = body.PARENTS[i]
        x[:, i] = x[:, p] + R[:, p] @ offsets[i]
        guess = R[:, p] @ mean[i]
        if body.JOINTS[i] in _TRUNK:
            R[:, i] = guess
            continue
        B = _HOLD * guess
        for k in np.flatnonzero(markers.part == i):
            B = B + weight[:, k, None, None] * (markers.pos[:, k] - x[:, i])[:, :, None] * place[k]
        if i in _HINGES:
            B = B + _hinge(i, x[:, i], near, shown)
        for j in [j for j in range(22) if body.PARENTS[j] == i]:
            B = B + shown[:, j, None, None] * (near[:, j] - x[:, i])[:, :, None] * offsets[j]
        R[:, i] = _nearest_rotation(B)
        local[:, i] = np.swapaxes(R[:, p], -1, -2) @ R[:, i]
    return Pose(root, local)


def _hinge(
    part: int, origin: Float[Array, "T 3"], near: Float[Array, "T 22 3"],
    shown: Float[Array, "T 22"],
) -> Float[Array, "T 3 3"]:  # fmt: skip
    """What the plane of a bent knee or elbow says of the roll of the thigh or upper arm."""
    middle, end, axis = _HINGES[part]
    upper, lower = near[:, middle] - origin, near[:, end] - near[:, middle]
    length = np.linalg.norm(upper, axis=1) * np.linalg.norm(lower, axis=1)
    seen = shown[:, middle] * shown[:, end]
    normal = np.cross(upper, lower) * (seen / np.maximum(length, 1e-9))[:, None]
    return _HINGE * normal[:, :, None] * np.array(axis)


def mirror_gain(
    markers: Markers, offsets: Float[Array, "22 3"], place: Float[Array, "K 3"]
) -> float:
    """How much better the mirror image of the body fits the trunk: the median ratio of residuals.

    Below one where left and right are exchanged, or the axes of the file are left-handed.
    """
    x0, _ = body.forward(offsets, np.zeros((1, 3)), np.tile(np.eye(3), (1, 22, 1, 1)))
    rigid = x0[0, markers.part] + place
    steady = np.isin(
        markers.part,
        [body.INDEX[name] for name in (*_TRUNK, "head", "neck", "left_hip", "right_hip")],
    )
    use = markers.seen & steady
    ok = use.sum(axis=1) >= 5
    if not ok.any():
        return np.inf
    straight, _ = _fit_rigid(markers.pos[ok], rigid, use[ok].astype(float))
    flipped, _ = _fit_rigid(
        markers.pos[ok], rigid * np.array([1.0, -1.0, 1.0]), use[ok].astype(float)
    )
    return float(np.median(flipped[2] / np.maximum(straight[2], 1e-6)))


def _place_trunk(
    markers: Markers, seen: Float[Array, "T K"], rigid: Float[Array, "K 3"],
    trunk: Bool[Array, "K"], near: Float[Array, "T 22 3"], shown: Float[Array, "T 22"],
    x0: Float[Array, "22 3"],
) -> tuple[Float[Array, "T 3"], Float[Array, "T 3 3"]]:  # fmt: skip
    """The trunk as one rigid part, with hips, shoulders and neck where markers show them."""
    ends = [body.INDEX[name] for name in
            ("left_hip", "right_hip", "left_shoulder", "right_shoulder", "neck")]  # fmt: skip
    pos = np.concatenate([markers.pos, near[:, ends]], axis=1)
    model = np.concatenate([rigid, x0[ends]])
    weight = np.concatenate([seen * trunk, 0.3 * shown[:, ends]], axis=1)
    (root, turn, _), few = _fit_rigid(pos, model, weight)
    if (
        few.any()
    ):  # too little of the trunk is seen: everything that is, at the arms' and legs' rest
        (root2, turn2, _), still = _fit_rigid(markers.pos, rigid, seen)
        root[few], turn[few] = root2[few], turn2[few]
        few = few & still
    if few.any() and not few.all():
        at = np.flatnonzero(~few)
        nearest = at[np.argmin(np.abs(np.flatnonzero(few)[:, None] - at), axis=1)]
        root[few], turn[few] = root[nearest], turn[nearest]
    return root, turn


def _fit_rigid(
    pos: Float[Array, "T K 3"], model: Float[Array, "K 3"], weight: Float[Array, "T K"]
) -> tuple[tuple[Float[Array, "T 3"], Float[Array, "T 3 3"], Float[Array, "T"]], Bool[Array, "T"]]:
    """Rigid placement of a model's origin, its residual, and frames with fewer than three."""
    weight = weight.astype(float)
    total = np.maximum(weight.sum(axis=1), 1e-12)[:, None]
    clean = np.where(weight[..., None] > 0, pos, 0.0)
    here = np.einsum("tk,tka->ta", weight, clean) / total
    there = weight @ model / total
    y, f = clean - here[:, None], model - there[:, None]
    turn = _nearest_rotation(np.einsum("tk,tka,tkb->tab", weight, y, f, optimize=True))
    root = here - (turn @ there[..., None])[..., 0]
    error = y - np.einsum("tab,tkb->tka", turn, f)
    residual = np.sqrt(np.einsum("tk,tka->t", weight, error**2) / total[:, 0])
    return (root, turn, residual), (weight > 0).sum(axis=1) < 3


def _joints_shown(
    markers: Markers, weight: Float[Array, "T K"], rigid: Float[Array, "K 3"],
    x0: Float[Array, "22 3"],
) -> tuple[Float[Array, "T 22 3"], Float[Array, "T 22"]]:  # fmt: skip
    """Rough centres of the joints that have markers beside them, and their weights."""
    frames = len(markers.pos)
    near, shown = np.zeros((frames, 22, 3)), np.zeros((frames, 22))
    height = float(np.ptp(x0[:, 2]))
    for j in range(1, 22):
        neighbour = (markers.part == j) | (markers.part == body.PARENTS[j])
        own = neighbour & (np.linalg.norm(rigid - x0[j], axis=1) < _NEAR * height)
        on = weight * own
        total = on.sum(axis=1)
        near[:, j] = np.einsum("tk,tka->ta", on, markers.pos) / np.maximum(total, 1e-12)[:, None]
        shown[:, j] = np.max(on, axis=1)
    return near, shown


def _nearest_rotation(B: Float[Array, "T 3 3"]) -> Float[Array, "T 3 3"]:
    """The rotation that maximises ``tr(Rᵀ B)``."""
    U, _, Vt = np.linalg.svd(B)
    sign = np.linalg.det(U @ Vt)
    U = U.copy()
    U[..., 2] *= sign[:, None]
    return U @ Vt
