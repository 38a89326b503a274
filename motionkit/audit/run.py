"""The audit of one reference, and of what a library holds twice."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from motionkit.audit import collision, contract, ground, joints
from motionkit.audit.config import AuditConfig
from motionkit.audit.findings import AuditResult, Finding, make_finding
from motionkit.audit.motion import make_motion
from motionkit.cache import Entry, Reference
from motionkit.robot import Robot

_CHECKS = (
    contract.check_length, contract.check_quaternions, contract.check_kinematics,
    contract.check_velocities, joints.check_landmarks, joints.check_limits, joints.check_rates,
    joints.check_root, joints.check_movement, ground.check_ground, ground.check_contacts,
    ground.check_balance, collision.check_self_collision,
)  # fmt: skip


def audit_reference(
    reference: Reference, robot: Robot, config: AuditConfig | None = None
) -> AuditResult:
    """Everything that is wrong or odd about a stored motion, and its figures.

    All that can be is computed anew from the stored ``qpos`` in float64: neither the solver's
    report nor the stored bodies are trusted. Arrays that are not finite, or a robot of other
    joints, end the audit there, because no figure would mean anything.

    Args:
        reference: as stored.
        robot: whose motion it should be.
        config: limits; default ``AuditConfig()``.

    Returns:
        Findings by number and frame, and figures; those that a clip is too short for, or has no
        arrays for, are left out.
    """
    config = AuditConfig() if config is None else config
    found = [
        make_finding(reference.name, note["code"], note["message"], value=note.get("value"),
                     unit=note.get("unit", ""), where="source")
        for note in reference.provenance.get("notes", ())
    ]  # fmt: skip
    summary: dict[str, Any] = {"robot": reference.robot}
    wrong = contract.check_robot(reference, robot)
    broken = contract.check_finite(reference)
    found += [*wrong, *broken]
    is_same_tree = (reference.joint_names, reference.body_names) == (
        robot.joint_names, robot.body_names)  # fmt: skip
    if not broken and is_same_tree:
        motion = make_motion(reference, robot, config)
        for check in _CHECKS:
            figures, late = check(motion)
            summary |= figures
            found += late
    found.sort(key=lambda finding: (finding.code, finding.frame or 0))
    return AuditResult(reference.name, tuple(found), summary)


def find_duplicates(entries: Iterable[Entry]) -> list[Finding]:
    """MK409: shards of a library whose ``qpos`` are the same to the bit; one finding a copy."""
    same: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        same[entry.qpos_sha256].append(entry)
    return [
        make_finding(copy.name, "MK409", f"holds the same motion as {group[0].name}",
                     where=group[0].name)
        for group in same.values()
        for copy in group[1:]
    ]  # fmt: skip
