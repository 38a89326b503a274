"""The table of findings: one number for life, what it says, why it matters, how to fix it.

``docs/findings.md`` is written from here, and so is ``motionkit audit --explain``.
A number is never used again for something else.
"""

from dataclasses import fields

from motionkit.audit.check import Check as Check
from motionkit.audit.check import Severity as Severity
from motionkit.audit.config import AuditConfig
from motionkit.audit.marker_checks import MARKER_CHECKS
from motionkit.audit.source_checks import SOURCE_CHECKS
from motionkit.errors import ConfigError

CHECKS: dict[str, Check] = {
    **SOURCE_CHECKS,
    **MARKER_CHECKS,
    # Retargeting: the motion of the robot's joints and root.
    "MK201": Check(
        "joint-limit", "error", "A joint lies outside its range, compared exactly as stored",
        "a simulator that starts there throws the robot",
        "retarget again; the retargeter never writes such a value"),
    "MK202": Check(
        "joint-jump", "error", "A joint turns by more than π between two frames",
        "an angle was wrapped, or the solver changed branch; differences of it are nonsense",
        "retarget again, or cut the clip there with --frames"),
    "MK203": Check(
        "joint-speed", "error", "A joint is faster than its budget",
        "the robot cannot follow, and the tracker learns to ignore the reference",
        "raise --max-joint-velocity if the robot can, or cut the clip with --frames",
        "max_velocity"),
    "MK204": Check(
        "joint-acceleration", "error", "A joint accelerates more than its budget",
        "the motors cannot follow; jitter in the source looks like this",
        "raise --max-joint-acceleration if the robot can, or cut the clip with --frames",
        "max_acceleration"),
    "MK205": Check(
        "not-converged", "error", "The solver did not end well",
        "the motion is not the best one for the source", "cut or clean the source as it says"),
    "MK206": Check(
        "landmark-far", "warning", "A landmark of full weight stays far from its target",
        "the robot does not do what the human did; reach, limits or a glitch of the source",
        "look at the clip in the viewer, at the frame named", "max_position_error"),
    "MK207": Check(
        "landmark-turned", "warning", "A landmark of full weight stays turned from its target",
        "the robot does not do what the human did; reach, limits or a wrong rest pose",
        "look at the clip in the viewer, at the frame named", "max_rotation_error"),
    "MK208": Check(
        "frozen", "error", "The robot does not move while its targets do",
        "a frozen robot has no skating, no penetration and no limit violated, so nothing else "
        "would say so", "retarget again; this is a defect of the solver", "min_movement"),
    "MK209": Check(
        "frozen-stretch", "warning", "Nothing at all changes for a while",
        "capture lost the person and held the last pose, or the clip is padded",
        "cut the stretch with --frames", "max_still"),
    "MK210": Check(
        "self-collision", "warning", "Two bodies of the robot overlap",
        "a simulator pushes them apart with large forces",
        "cut the clip there, or accept it if the bodies may touch", "max_self_collision"),
    "MK211": Check(
        "root-height", "error", "The root is below the ground or far above it",
        "the floor of the source was not found, or its up axis is wrong",
        "give --up for the source, or cut the clip"),
    "MK212": Check(
        "teleport", "error", "The root moves or turns faster than any person between two frames",
        "capture was cut or lost there; velocities across the gap are nonsense",
        "cut the clip there with --frames"),
    "MK213": Check(
        "upside-down", "warning", "The robot is upside down for most of the clip",
        "the up axis of the source is wrong, or it is a handstand", "give --up for the source",
        "min_upright"),
    "MK214": Check(
        "never-moves", "warning", "The robot does not move, and there is no target to compare with",
        "a frozen solver looks like a person standing still", "look at the source",
        "still_travel"),
    "MK215": Check(
        "backwards", "warning", "The robot faces against its travel for most of the clip",
        "a source turned about its up axis, or mirrored, looks like this",
        "look at the clip; none needed if the person walks backwards", "min_facing"),
    "MK216": Check(
        "budget-limited", "warning", "A joint reaches the onset of its budget of speed or "
        "acceleration, so the motion was held back there",
        "the source is faster, and what is stored is a smoothed version of it",
        "compare with the source at the frame named; raise --max-joint-velocity or "
        "--max-joint-acceleration if the robot can", "limited_share"),
    # Terrain and contact.
    "MK301": Check(
        "penetration", "error", "The robot's collision geometry is below the ground",
        "a simulator that starts there throws the robot; a tracker that follows pushes the floor",
        "retarget again with a larger --ground-weight, or check the floor of the source",
        "max_penetration"),
    "MK302": Check(
        "skating", "warning", "A sole in contact slides",
        "feet that slide teach the policy to slip",
        "retarget again with a larger --contact-weight, or check the contacts of the source",
        "max_skating"),
    "MK303": Check(
        "drift", "warning", "A sole in contact moves away from where it touched down",
        "a foot that creeps passes every test of speed and still ends elsewhere",
        "retarget again with a larger --contact-weight, or check the contacts of the source",
        "max_drift"),
    "MK304": Check(
        "floating", "warning", "A sole in contact is above the ground",
        "the policy is told to stand on air", "check the floor of the source", "max_floating"),
    "MK305": Check(
        "no-contact", "info", "The cache holds no contacts",
        "skating, drift and floating cannot be measured", "retarget the clip with contacts"),
    "MK306": Check(
        "contact-all-zero", "error", "No contact is ever stored while soles stand on the ground",
        "rewards for contact would punish standing", "retarget the clip",
        "max_missed_contact"),
    "MK307": Check(
        "contact-range", "error", "A contact is no probability",
        "other formats store -1, 0 and 1", "convert it to a probability"),
    "MK308": Check(
        "airborne-end", "warning", "The clip starts or ends in the air",
        "an episode that starts there falls", "cut the clip with --frames",
        "max_airborne_height"),
    "MK309": Check(
        "never-grounded", "warning", "The robot never comes near the ground",
        "the floor of the source was not found, or it stands on something that is not in the clip",
        "check the floor of the source", "max_airborne_height"),
    "MK310": Check(
        "unsupported", "warning", "The robot is out of balance while almost still",
        "it sits or leans on something that is not in the clip",
        "add the seat or wall to the scene, or cut the clip", "max_unsupported"),
    "MK311": Check(
        "hovering", "warning", "The robot is far above the ground for a good part of the clip",
        "the source drifts in height, or stands on something that is not in the clip",
        "use a source whose height holds, or add what it stands on to the scene",
        "max_hovering"),
    "MK312": Check(
        "ground-not-level", "warning", "The source stands at different heights",
        "the ground was taken for level, so steps up or down were pressed onto it or left hanging",
        "leave the clip out until terrain can be reconstructed, or cut it to one level",
        "max_ground_spread"),
    # Cache and data contract.
    "MK401": Check(
        "not-finite", "error", "An array holds NaN or infinity",
        "one such value spoils a whole training run", "retarget the clip"),
    "MK402": Check(
        "too-short", "warning", "The clip is shorter than an episode could use",
        "velocities and contacts need time to mean something", "leave it out, or loop it",
        "min_seconds"),
    "MK403": Check(
        "rate-odd", "warning", "The rate is implausible",
        "speeds are wrong by the same factor", "give the rate with --source-fps"),
    "MK404": Check(
        "velocity-mismatch", "error", "Stored velocities are not differences of the stored poses",
        "another rate, another point of the body or another frame was meant",
        "build the cache again", "max_velocity_error"),
    "MK405": Check(
        "kinematics-mismatch", "error", "Stored bodies are not where the stored pose puts them",
        "another robot, another order of names or of quaternion components",
        "build the cache again for this robot", "max_kinematics_error"),
    "MK406": Check(
        "quat-norm", "error", "A quaternion is not of unit length",
        "rotating with it scales", "build the cache again", "max_quat_error"),
    "MK407": Check(
        "quat-sign", "error", "Successive quaternions lie in opposite hemispheres",
        "interpolating or differencing them gives a full turn", "build the cache again"),
    "MK408": Check(
        "other-robot", "error", "The cache was made for another robot, or another state of it",
        "joints and bodies are told apart by their order",
        "give the robot that the cache names, or build the cache again"),
    "MK409": Check(
        "duplicate", "warning", "Two clips hold the same motion",
        "it is sampled twice as often, and splits into training and test leak",
        "delete one of the shards"),
    "MK410": Check(
        "unreadable", "error", "A shard cannot be opened",
        "it is damaged, or of another version",
        "delete it, and run again the command that made it"),
}  # fmt: skip
"""Every finding by its number."""


def explain(code: str) -> str:
    """What a finding means, for people, in a few lines.

    Raises:
        ConfigError: no such number.
    """
    code = code.upper()
    check = CHECKS.get(code)
    if check is None:
        raise ConfigError(f"there is no finding {code}",
                          help=f"the findings are: {', '.join(CHECKS)}")  # fmt: skip
    lines = [f"{code} {check.name} ({check.severity})", f"what: {check.what}",
             f"why:  {check.why}", f"fix:  {check.fix}"]  # fmt: skip
    if check.knob:
        lines.append(f"limit: {describe_limit(check.knob)}")
    return "\n".join(lines)


def describe_limit(knob: str) -> str:
    """A field of :class:`AuditConfig` with its default, unit and meaning."""
    found = next(f for f in fields(AuditConfig) if f.name == knob)
    unit = f" {found.metadata['unit']}" if found.metadata["unit"] else ""
    value = "" if found.default is None else f" {found.default:g}{unit}:"
    return f"{knob}{value} {found.metadata['help']}"
