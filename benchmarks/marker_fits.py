"""Marker fits of real recordings: residuals, then the retarget to a robot and its audit.

    python benchmarks/marker_fits.py [FILE...] [--write] [--pictures DIR]

Runs ``motionkit align`` and ``motionkit retarget --robot anatomic_soma`` on each file, as a user
would, and puts their reports side by side. Without files it takes the walking and sports recordings
of ``../shared/data``. Exit 1 if a file is refused, or its audit has errors.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from motionkit.cli.console import main

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
FILES = (
    "formats/c3d/ezc3d_Qualisys.c3d", "formats/c3d/ezc3d_BTS.c3d", "formats/c3d/btk_o_Gait.c3d",
    "formats/c3d/btk_o_ADemo1_rewrite_c3d_pc_float.c3d", "formats/c3d/btk_s01_Eb015pi.c3d",
    "formats/c3d/btk_s02_dec_int.c3d", "formats/c3d/btk_s04_sub_labels.c3d",
    "formats/c3d/btk_s28_bts_missing_params.c3d", "formats/c3d/btk_o_shd01.c3d",
    "formats/trc/btk_Gait.trc", "formats/trc/osim_walk_free_01.trc",
    "formats/trc/osim_std_walking5_markers.trc", "formats/trc/osim_init100.trc",
    "formats/trc/btk_MOTEK_T.trc", "formats/trc/pose2sim_Balancing_LSTM.trc",
    "formats/trc/p2sblender_Pose2Sim_markers.trc", "formats/amass/joints2smpl_test_motion.npy",
    "climb/climb_seq_0.npz",
)  # fmt: skip


def run(path: Path, folder: Path) -> dict[str, Any]:
    """One file through both commands."""
    began = time.perf_counter()
    people, cache = folder / "people", folder / "cache"
    code = main(["align", str(path), "--out", str(people), "--picture", "--workers", "1"])
    seconds = time.perf_counter() - began
    if code == 2:
        return {"file": path.name, "refused": True}
    report = json.loads((people / f"{path.stem}.report.json").read_text("utf-8"))
    main(["retarget", str(path), "--robot", "anatomic_soma", "--out", str(cache), "--picture",
          "--workers", "1"])  # fmt: skip
    findings = {"error": [], "warning": []}
    ended: dict[str, Any] = {}
    for line in (cache / "audit.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] == "finding" and row["severity"] in findings:
            findings[row["severity"]].append(row["code"])
        if row["kind"] == "ended":
            ended = row
    markers = report["markers"]
    return {
        "file": path.name, "refused": False, "marker_set": markers["marker_set"],
        "markers": len(markers["markers"]), "unmapped": len(markers["unmapped"]),
        "frames": report["frames"], "stature": round(report["stature"], 3),
        "residual_mm": markers["residual_mm"], "per_marker": markers["markers"],
        "joints": markers["joints"], "align_seconds": round(seconds, 2),
        "retarget": {"status": ended.get("status"), "message": ended.get("message"),
                     "errors": findings["error"], "warnings": sorted(set(findings["warning"]))},
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """For people."""
    lines = [
        "| file | set | markers | frames | mean mm | p95 mm | max mm | worst marker, mean | "
        "uncertain, largest | audit after the retarget |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["refused"]:
            lines.append(f"| {row['file']} | refused | | | | | | | | |")
            continue
        worst = max(row["per_marker"], key=lambda m: m["residual_mm"]["mean"] or 0.0)
        known = [j for j in row["joints"] if j["uncertainty_mm"] is not None]
        loose = max(known, key=lambda j: j["uncertainty_mm"])
        spread = row["residual_mm"]
        result = row["retarget"]
        codes = ", ".join([*(f"**{code}**" for code in result["errors"]), *result["warnings"]])
        lines.append(
            f"| {row['file']} | {row['marker_set']} | {row['markers']} | {row['frames']} | "
            f"{spread['mean']:.1f} | {spread['p95']:.1f} | {spread['max']:.0f} | "
            f"{worst['label']} {worst['residual_mm']['mean']:.0f} mm | "
            f"{loose['joint']} {loose['uncertainty_mm']:.0f} mm | "
            f"{result['status']}: {codes or 'clean'} |"
        )
    return "\n".join(lines)


def command() -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    files = given.files or [SHARED / name for name in FILES]
    rows = []
    for path in files:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rows.append(run(path, folder))
            if given.pictures is not None:
                given.pictures.mkdir(parents=True, exist_ok=True)
                for picture in folder.rglob("*.png"):
                    kind = "robot" if picture.parent.name == "pictures" else "fit"
                    target = given.pictures / f"{path.stem}.{kind}.png"
                    target.write_bytes(picture.read_bytes())
    text = table(rows)
    print(text)
    if given.write:
        facts = {name: version(name) for name in ("motionkit", "numpy", "scipy", "mujoco")}
        facts |= {"python": platform.python_version(), "machine": platform.machine()}
        document = {"versions": facts, "files": rows}
        (RESULTS / "marker_fits.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        (RESULTS / "marker_fits.md").write_text(f"# Marker fits\n\n{text}\n", "utf-8")
    return int(any(row["refused"] or row["retarget"]["errors"] for row in rows))


if __name__ == "__main__":
    sys.exit(command())
