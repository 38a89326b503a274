"""The audit: what is wrong with a stored motion, by number, with figures."""

from motionkit.audit.checks import CHECKS as CHECKS
from motionkit.audit.checks import Check as Check
from motionkit.audit.checks import explain as explain
from motionkit.audit.config import AuditConfig as AuditConfig
from motionkit.audit.findings import AUDIT_SCHEMA as AUDIT_SCHEMA
from motionkit.audit.findings import AuditResult as AuditResult
from motionkit.audit.findings import Finding as Finding
from motionkit.audit.findings import json_line as json_line
from motionkit.audit.findings import make_finding as make_finding
from motionkit.audit.findings import run_line as run_line
from motionkit.audit.findings import unreadable as unreadable
from motionkit.audit.findings import write_jsonl as write_jsonl
from motionkit.audit.run import audit_reference as audit_reference
from motionkit.audit.run import find_duplicates as find_duplicates
