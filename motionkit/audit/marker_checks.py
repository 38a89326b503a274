"""What readers of markers and robot files, and the fit of markers, notice: MK150 to MK199."""

from motionkit.audit.check import Check

MARKER_CHECKS: dict[str, Check] = {}
