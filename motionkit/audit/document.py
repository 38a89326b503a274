"""``docs/findings.md``, written from the table: ``python -m motionkit.audit.document``."""

from dataclasses import fields

from motionkit.audit.checks import CHECKS, describe_limit
from motionkit.audit.config import AuditConfig

_TITLES = {"1": "Source", "2": "Retargeting", "3": "Terrain and contact", "4": "Cache"}
_HEAD = """# Findings

Written by `python -m motionkit.audit.document > docs/findings.md` from the table of checks; a test
compares. Numbers are for life: one is never used again for something else. `MK1xx`: the source, as
its reader saw it; `MK2xx`: retargeting; `MK3xx`: terrain and contact; `MK4xx`: the cache;
`MK5xx`: training, later.

`error`: do not train on the clip; the command exits with 1. `warning`: look at it. `info`: good to
know. A limit is a field of `AuditConfig`, listed at the end; what a figure means is said in
[`audit.md`](audit.md).
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
    parts.append("## Limits\n\n| field | default | unit | meaning |\n|---|---|---|---|")
    for knob in fields(AuditConfig):
        default = "" if knob.default is None else f"{knob.default:g}"
        meta = knob.metadata
        source = f" ({meta['source']})" if meta["source"] else ""
        parts.append(f"| `{knob.name}` | {default} | {meta['unit']} | {meta['help']}{source} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")
