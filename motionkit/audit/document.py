"""``docs/findings.md``, written from the table: ``python -m motionkit.audit.document``."""

from motionkit.audit.checks import CHECKS, describe_limit

_TITLES = {"1": "Source", "2": "Retargeting", "3": "Terrain and contact", "4": "Cache"}
_HEAD = """# Findings

Written by `python -m motionkit.audit.document > docs/findings.md` from the table of checks; a test
compares. Numbers are for life: one is never used again for something else.

`error`: do not train on the clip; the command exits with 1. `warning`: look at it. `info`: good to
know. A limit is a field of `AuditConfig`; what a figure means is said in
[`docs/audit.md`](audit.md).
"""


def document() -> str:
    """``docs/findings.md``."""
    parts = [_HEAD]
    for digit, title in _TITLES.items():
        parts.append(f"## MK{digit}xx {title}\n")
        for code, check in CHECKS.items():
            if code[2] != digit:
                continue
            limit = f"\n- limit: `{describe_limit(check.knob)}`" if check.knob else ""
            parts.append(f"### {code} {check.name}\n\n{check.what}. `{check.severity}`\n\n"
                         f"- why: {check.why}\n- fix: {check.fix}{limit}\n")  # fmt: skip
    return "\n".join(parts)


if __name__ == "__main__":
    print(document(), end="")
