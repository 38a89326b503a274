"""Every handed file: read with the facts that are known of it, or refused with a reason.

    python benchmarks/formats_table.py [FOLDER] [--write]

Reads each file below FOLDER (default ``../shared/data/formats``) in a process of its own, holds
the clip against ``expected.json`` and against what plain counting finds, and compares the files
that hold one motion. Exit 1 if a file that should load is refused or disagrees, if one that was
made bad loads, or if a process dies. ``--write`` keeps the table below ``benchmarks/results``.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import json  # noqa: E402
import multiprocessing as mp  # noqa: E402
import platform  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import replace  # noqa: E402
from importlib.metadata import version  # noqa: E402
from multiprocessing.connection import Connection  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from formats_facts import (  # noqa: E402
    GROUPS,
    RATE_GIVEN,
    REFUSED_ON_PURPOSE,
    check_facts,
    is_bad,
    match,
    options_for,
)

from motionkit import rotation  # noqa: E402
from motionkit.clip import (  # noqa: E402
    SMPLH_JOINTS,
    MarkerClip,
    RobotMotion,
    SkeletonClip,
    SmplClip,
    SourceClip,
    slice_frames,
)
from motionkit.errors import MotionkitError  # noqa: E402
from motionkit.formats import read_clip  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "formats"
RESULTS = Path(__file__).parent / "results"
NOT_INPUT = ("MANIFEST.md", "expected.json")
"""Files about the files."""
TIMEOUT = 120.0
"""Seconds that a process may take."""


def in_child(function: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """What a function returns in a process of its own, or how that process ended."""
    ours, theirs = mp.get_context("fork").Pipe(duplex=False)

    def work(pipe: Connection) -> None:
        try:
            pipe.send(function(*args))
        except Exception:
            pipe.send({"verdict": "crashed", "text": traceback.format_exc(limit=-3)})

    process = mp.get_context("fork").Process(target=work, args=(theirs,))
    process.start()
    theirs.close()
    try:
        result = ours.recv() if ours.poll(TIMEOUT) else {"verdict": "crashed", "text": "no answer"}
    except EOFError:
        process.join()
        result = {"verdict": "crashed", "text": f"the process died: {process.exitcode}"}
    process.kill()
    process.join()
    return result


def judge(folder: Path, name: str) -> dict[str, Any]:
    """One file: verdict, facts or reason, and whether that is as it should be."""
    wrong: list[str] = []
    suffix = Path(name).suffix.lower().lstrip(".")
    row = {"file": name, "format": suffix, "verdict": "refused", "text": "", "wrong": wrong}
    is_rated, advice = True, ""
    try:
        read_clip(folder / name)
    except MotionkitError as error:
        is_rated, advice = False, error.help
    rate = match(name, RATE_GIVEN)
    is_meant = is_bad(name) or match(name, REFUSED_ON_PURPOSE) is not None
    if rate and not is_meant and (is_rated or "--source-fps" not in advice):
        wrong.append("is not refused for want of a rate")
    try:
        clip = read_clip(folder / name, options_for(name))
    except MotionkitError as error:
        row["text"] = str(error).removeprefix(f"{folder / name}: ")
        reason = match(name, REFUSED_ON_PURPOSE)
        if not is_bad(name):
            if reason is None:
                wrong.append("should load")
            elif not re.search(reason[0], str(error)):
                wrong.append(f"should be refused for {reason[0]!r}")
        return row
    row |= {"verdict": "loaded", "format": clip.provenance.format}
    if is_bad(name):
        wrong.append("made to be refused, but loads")
        return row
    if match(name, REFUSED_ON_PURPOSE):
        wrong.append("declared as refused, but loads")
        return row
    check = check_facts(folder, name, clip)
    row["text"] = ", ".join(check.facts)
    wrong += check.wrong
    return row


def compare(folder: Path, base: str, other: str) -> dict[str, Any]:
    """The largest difference of two files that hold one motion [m]."""
    first = read_clip(folder / base, options_for(base))
    second = read_clip(folder / other, options_for(other))
    if isinstance(first, MarkerClip) and other.endswith(".mat"):
        # The C3D has one frame more, and colons that MATLAB's names cannot have.
        labels = tuple(label.replace(":", "_") for label in first.labels)
        first = replace(slice_frames(first, 0, second.num_frames), labels=labels)
    return {"verdict": "compared", "metres": difference(first, second)}


def difference(a: SourceClip, b: SourceClip) -> float:
    """Of positions [m]; of a robot's also of angles, at an arm of 1 m."""
    if a.num_frames != b.num_frames or abs(a.fps / b.fps - 1.0) > 1e-9:
        return float("inf")
    if isinstance(a, RobotMotion) and isinstance(b, RobotMotion):
        turn = rotation.multiply(rotation.conjugate(a.root_quat), b.root_quat)
        angle = 2.0 * np.linalg.norm(turn[:, 1:], axis=1)
        parts = [np.abs(a.root_pos_w - b.root_pos_w).max(), angle.max(),
                 np.abs(a.joint_pos - b.joint_pos).max()]  # fmt: skip
        if a.body_pos_w is not None and b.body_pos_w is not None:
            parts.append(np.abs(a.body_pos_w - b.body_pos_w).max())
        return float(max(parts))
    first, second = _positions(a), _positions(b)
    if first.keys() != second.keys():
        return float("inf")
    worst = 0.0
    for name, pos in first.items():
        if np.any(np.isnan(pos) != np.isnan(second[name])):
            return float("inf")
        seen = ~np.isnan(pos)
        worst = max(worst, float(np.abs(pos - second[name])[seen].max(initial=0.0)))
    return worst


def _positions(clip: SourceClip) -> dict[str, np.ndarray]:
    """World positions [m] by role or label; of parameters, of the body that they move."""
    if isinstance(clip, SkeletonClip):
        pos, _ = clip.global_pose()
        return {role: pos[:, clip.joint_names.index(j)] for role, j in clip.roles.items()}
    if isinstance(clip, MarkerClip):
        return {label: clip.pos_w[:, m] for m, label in enumerate(clip.labels)}
    assert isinstance(clip, SmplClip)
    from motionkit.human import align

    human = align(clip)
    return {name: human.landmark_pos_w[:, i] for i, name in enumerate(SMPLH_JOINTS)
            if not re.search(r"thumb|index|middle|ring|pinky", name)}  # fmt: skip


def judge_all(folder: Path) -> list[dict[str, Any]]:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")
                   if path.is_file() and path.name not in NOT_INPUT)  # fmt: skip
    rows = []
    for name in names:
        row = in_child(judge, folder, name)
        if row["verdict"] == "crashed":
            row = {"file": name, "format": "", "wrong": ["crashed"], **row}
        rows.append(row)
    return rows


def compare_all(folder: Path) -> list[dict[str, Any]]:
    done = []
    for title, base, masks, limit in GROUPS:
        others = sorted({path.relative_to(folder).as_posix()
                         for mask in masks.split() for path in folder.glob(mask)})  # fmt: skip
        worst = 0.0
        wrong = [] if others else ["no file of that name"]
        for other in others:
            result = in_child(compare, folder, base, other)
            if result["verdict"] == "crashed":
                wrong.append(f"{other}: {result['text'].strip().splitlines()[-1]}")
                continue
            worst = max(worst, result["metres"])
            if not result["metres"] <= limit:
                wrong.append(f"{other}: {result['metres']:.3g} m")
        done.append({"group": title, "base": base, "files": len(others), "limit_m": limit,
                     "worst_m": worst if np.isfinite(worst) else None, "wrong": wrong})  # fmt: skip
    return done


def to_markdown(rows: list[dict[str, Any]], groups: list[dict[str, Any]]) -> str:
    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    lines = [
        "# Every handed file, loaded or refused",
        "",
        "Made by `python benchmarks/formats_table.py --write`.",
        "",
        "| file | format | verdict | facts, or the reason | agrees |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        why = match(row["file"], REFUSED_ON_PURPOSE)
        agrees = "; ".join(row["wrong"]) or (
            "yes" if row["verdict"] == "loaded" or is_bad(row["file"])
            else f"yes: {why[1]}" if why else "yes"
        )  # fmt: skip
        lines.append(f"| `{row['file']}` | {row['format']} | {row['verdict']} | "
                     f"{cell(row['text'])} | {cell(agrees)} |")  # fmt: skip
    lines += ["", "## Counts", "", "| format | loaded | refused | wrong |", "|---|---|---|---|"]
    for kind in sorted({row["format"] for row in rows}):
        own = [row for row in rows if row["format"] == kind]
        count = Counter(row["verdict"] for row in own)
        bad = sum(bool(row["wrong"]) for row in own)
        lines.append(f"| {kind} | {count['loaded']} | {count['refused']} | {bad} |")
    count = Counter(row["verdict"] for row in rows)
    lines += [f"| all | {count['loaded']} | {count['refused']} | "
              f"{sum(bool(row['wrong']) for row in rows)} |", "",
              "## One motion in several files", "",
              "| group | files | largest difference [m] | limit [m] | agrees |",
              "|---|---|---|---|---|"]  # fmt: skip
    for group in groups:
        worst = "none" if group["worst_m"] is None else f"{group['worst_m']:.2g}"
        lines.append(f"| {group['group']} | {group['files']} | {worst} | {group['limit_m']:.2g} | "
                     f"{cell('; '.join(group['wrong'])) or 'yes'} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--write", action="store_true", help="keep the table")
    args = parser.parse_args(argv)
    rows, groups = judge_all(args.folder), compare_all(args.folder)
    text = to_markdown(rows, groups)
    print(text)
    if args.write:
        found = {"python": platform.python_version(), "numpy": version("numpy"),
                 "motionkit": version("motionkit")}  # fmt: skip
        (RESULTS / "formats_table.md").write_text(text)
        document = {"versions": found, "files": rows, "groups": groups}
        (RESULTS / "formats_table.json").write_text(json.dumps(document, indent=1) + "\n")
    return 1 if any(row["wrong"] for row in [*rows, *groups]) else 0


if __name__ == "__main__":
    sys.exit(main())
