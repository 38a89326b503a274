"""Motion with a known truth: one verb, from settings to clips."""

import hashlib
import json
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation
from motionkit.clip import (
    CONTACT_PARTS,
    SMPLH_JOINTS,
    SMPLH_PARENTS,
    HumanClip,
    Provenance,
    SkeletonClip,
)
from motionkit.human.body import Body, embedded_body
from motionkit.synth.config import SynthConfig
from motionkit.synth.gait import plan_gait, running, walking
from motionkit.synth.plan import TOE_LENGTH, Plan
from motionkit.synth.pose import pose_body
from motionkit.synth.standing import plan_arms, plan_squat

Array = np.ndarray

_HALF_FRAME = 1e-9  # of a frame, so that a whole number of them is not rounded down
_NAMES = {
    "pelvis": "Hips", "spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2", "neck": "Neck",
    "head": "Head", "hip": "UpLeg", "knee": "Leg", "ankle": "Foot", "foot": "ToeBase",
    "collar": "Shoulder", "shoulder": "Arm", "elbow": "ForeArm", "wrist": "Hand",
}  # fmt: skip
_NUM_BODY_JOINTS = 22  # of SMPL-H, before the fingers


@dataclass(frozen=True, slots=True)
class SynthMotion:
    """A motion and the truth about it."""

    clip: HumanClip
    """The person, with contact labels."""
    contact: Bool[Array, "T 4"]
    """Whether each of :data:`motionkit.clip.CONTACT_PARTS` stands flat and still."""
    contact_pos: Float[Array, "T 4 3"]
    """Where the soles under them are planted [m]; NaN while they are not."""
    skeleton: SkeletonClip
    """The same motion as a BVH file would hold it."""


def synthesize(config: SynthConfig | None = None) -> SynthMotion:
    """The motion that the settings describe; the same settings give the same bytes.

    The motion is a function of time that is only sampled at ``fps``: clips at several rates agree
    at common times.

    Raises:
        ConfigError: the stature is no person's.
    """
    config = config or SynthConfig()
    body = embedded_body(config.stature)
    rng = np.random.default_rng(config.seed)
    frames = int(config.seconds * config.fps + _HALF_FRAME) + 1
    time = np.arange(frames) / config.fps
    plan = _plan(config, time, rng, body)
    pos, quat = pose_body(plan, body)
    contact = np.stack(
        [planted for foot in plan.feet for planted in (foot.heel_planted, foot.toe_planted)], axis=1
    )
    clip = HumanClip(
        name=f"{config.kind}_{config.seed}",
        fps=float(config.fps),
        landmark_pos_w=pos,
        landmark_quat_w=quat,
        rest_pos=body.rest_pos,
        ankle_height=body.ankle_height,
        toe_height=body.toe_height,
        stature=body.stature,
        observed=np.arange(len(SMPLH_JOINTS)) < _NUM_BODY_JOINTS,
        body=body.name,
        provenance=_provenance(config),
        contact=contact,
    )
    planted = np.where(contact[..., None], sole_points(clip), np.nan)
    return SynthMotion(clip, contact, planted, _skeleton(clip))


def sole_points(clip: HumanClip) -> Float[Array, "T 4 3"]:
    """Points of the soles under :data:`motionkit.clip.CONTACT_PARTS` in the T-pose [m]."""
    index = [SMPLH_JOINTS.index(part) for part in CONTACT_PARTS]
    below = np.zeros((len(CONTACT_PARTS), 3))
    below[:, 2] = [-clip.ankle_height, -clip.toe_height] * 2
    return clip.landmark_pos_w[:, index] + rotation.rotate(clip.landmark_quat_w[:, index], below)


def _plan(
    config: SynthConfig, time: Float[Array, "T"], rng: np.random.Generator, body: Body
) -> Plan:
    if config.kind == "squat":
        return plan_squat(time, rng, body)
    if config.kind == "arms":
        return plan_arms(time, rng, body)
    style = running(config, rng) if config.kind == "run" else walking(config, rng)
    return plan_gait(time, style, body)


def _provenance(config: SynthConfig) -> Provenance:
    options = {name: value for name, value in asdict(config).items() if value is not None}
    text = json.dumps(options, sort_keys=True)
    return Provenance(
        path=f"synth:{config.kind}_{config.seed}",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        format="synth",
        writer="motionkit",
        options=tuple((name, str(value)) for name, value in sorted(options.items())),
    )


def _skeleton(clip: HumanClip) -> SkeletonClip:
    """Twenty-two joints under HumanIK's names, at rest in the T-pose, with end sites."""
    roles = SMPLH_JOINTS[:_NUM_BODY_JOINTS]
    names = tuple(_name(role) for role in roles)
    order = _depth_first(SMPLH_PARENTS[:_NUM_BODY_JOINTS])
    place = {joint: i for i, joint in enumerate(order)}
    parents = [SMPLH_PARENTS[joint] for joint in order]
    quat = clip.landmark_quat_w[:, order]
    local = quat.copy()
    local[:, 1:] = rotation.multiply(
        rotation.conjugate(clip.landmark_quat_w[:, parents[1:]]), quat[:, 1:]
    )
    offsets = clip.rest_pos[order] - clip.rest_pos[parents]
    offsets[0] = 0.0
    ends = sorted((place[SMPLH_JOINTS.index(role)], tip) for role, tip in _ends(clip).items())
    return SkeletonClip(
        name=clip.name,
        fps=clip.fps,
        joint_names=tuple(names[joint] for joint in order),
        parents=tuple(place.get(parent, -1) for parent in parents),
        offsets=offsets,
        root_pos_w=clip.landmark_pos_w[:, 0],
        joint_quat=rotation.unroll(local),
        roles={role: names[joint] for joint, role in enumerate(roles)},
        provenance=clip.provenance,
        end_parents=np.array([joint for joint, _ in ends]),
        end_offsets=np.array([tip for _, tip in ends]),
    )


def _name(role: str) -> str:
    side, _, part = role.rpartition("_")
    return f"{side.capitalize()}{_NAMES[part]}"


def _depth_first(parents: tuple[int, ...]) -> list[int]:
    """Joints in the order in which BVH nests them."""

    def below(joint: int) -> list[int]:
        children = [child for child, parent in enumerate(parents) if parent == joint]
        return [joint, *(each for child in children for each in below(child))]

    return below(0)


def _ends(clip: HumanClip) -> dict[str, Array]:
    """Tips of head, toes and hands from their joints in the T-pose [m]."""
    rest = dict(zip(SMPLH_JOINTS, clip.rest_pos, strict=True))
    sole = rest["left_ankle"][2] - clip.ankle_height
    ends = {"head": np.array([0.0, 0.0, sole + clip.stature - rest["head"][2]])}
    for side in ("left", "right"):
        toe = TOE_LENGTH * clip.stature
        ends[f"{side}_foot"] = np.array([toe, 0.0, 0.0])
        hand = rest[f"{side}_middle3"] - rest[f"{side}_wrist"]
        ends[f"{side}_wrist"] = hand
    return ends
