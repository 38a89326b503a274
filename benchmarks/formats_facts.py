"""What is known of every handed file without motionkit: expected.json, and plain counting.

Each fact is compared with the clip that was read, in the file's own unit and axes.
"""

import json
import re
import struct
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from motionkit import rotation
from motionkit.clip import MarkerClip, RobotMotion, SkeletonClip, SmplClip, SourceClip
from motionkit.formats.source import ReadOptions

RATE_TOLERANCE = {"bvh": 0.015, "trc": 5e-4}
"""Relative: a frame time and a column of times are rounded; others state their rate."""
EXACT_RATE = 2e-5
"""Relative, of other formats: a rate this near to a whole number is that number."""
ROUNDED = 6e-4
"""Of the ranges in expected.json, which have three decimals, in units of the file."""

REFUSED_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "amass/aitviewer_romp_output.npz": ("Python objects", "arrays of objects are pickles"),
    "amass/soma_mosh_stageii.pkl": ("is a pickle", "a pickle can run programs"),
    "robot/*.pkl": ("is a pickle", "a pickle can run programs"),
    "bvh/fairmotion_sinusoidal.bvh": ("no human body", "four links, no body"),
    "bvh/ganimator_truebones_crab.bvh": ("no human body", "a crab"),
    "bvh/pybvh_full_precision_frame_time.bvh": ("no human body", "two joints"),
    "bvh/pybvh_rotation_first_root.bvh": ("no human body", "four joints"),
    "c3d/btk_o_1123x01EMG.c3d": ("0 points|no points", "electromyography alone, 0 points"),
    "c3d/btk_o_Analysis.c3d": ("outputs of a model", "angles and moments alone, no marker"),
    "c3d/ezc3d_Kistler.c3d": ("0 points|no points", "force plates alone, 0 points"),
    "trc/btk_10002-20130626160334-Unnamed.trc": ("marker", "names no marker"),
    "trc/btk_Truncated.trc": ("", "ends in its header"),
    "minimal/amass_fps_both_disagree.npz": ("rates disagree", "two rates that disagree"),
    "minimal/amass_shape_only.npz": ("no motion", "a subject's shape alone"),
    "minimal/csv_empty.csv": ("empty", "0 bytes"),
    "minimal/folder_no_motion/*": ("", "made to hold no motion"),
    "minimal/robot_negative_axis.xml": ("format not known", "a robot, no motion"),
}
"""Files without ``bad`` in their name that are refused: what the message says, and why."""

RATE_GIVEN: dict[str, float] = {
    "minimal/csv_base_xyzw_60hz.csv": 0.0,  # in its name
    "minimal/csv_*.csv": 60.0,
    "robot/unitree_g1_dance1_subject2.csv": 30.0,
    "robot/protomotions_kimodo_g1_walk.csv": 30.0,
    "robot/kimodo_soma_motion.npz": 30.0,
}
"""Files that state no rate: they are refused for it, and read with ``--source-fps``."""

TIME_RATE = {"osim_std_walking5_markers.trc": 25.0}
"""Rates that differ from the mean in expected.json: 110 steps of its times are 0.04 s, the last is
0.008 s, which makes the mean 25.1815."""

GROUPS: tuple[tuple[str, str, str, float], ...] = (
    ("bvh_same", "minimal/bvh_base.bvh", "minimal/bvh_same_*.bvh", 1e-6),
    ("amass_same", "minimal/amass_base.npz", "minimal/amass_same_*.npz", 1e-6),
    ("AMASS spellings", "minimal/amass_base.npz",
     "minimal/amass_gender_bytes.npz minimal/amass_betas_1x16.npz minimal/amass_fps_array1.npz "
     "minimal/amass_key_mocap_frame_rate.npz minimal/amass_poses_T52x3.npz",
     1e-6),
    ("c3d_same", "minimal/c3d_base_mm.c3d", "minimal/c3d_same_*.c3d", 1e-6),
    ("C3D spellings", "minimal/c3d_base_mm.c3d",
     "minimal/c3d_units_mete.c3d minimal/c3d_subject_prefix.c3d", 1e-6),
    ("trc_same", "minimal/trc_base.trc", "minimal/trc_same_*.trc", 1e-6),
    ("trc separators", "minimal/trc_base.trc",
     "minimal/trc_commas.trc minimal/trc_spaces.trc", 1e-6),
    ("csv_same", "minimal/csv_base_xyzw_60hz.csv", "minimal/csv_same_*.csv", 1e-6),
    ("csv orders", "minimal/csv_base_xyzw_60hz.csv",
     "minimal/csv_wxyz.csv minimal/csv_header.csv", 1e-6),
    ("npz_same", "minimal/npz_base_holosoma.npz", "minimal/npz_same_*.npz", 1e-6),
    ("npz spellings", "minimal/npz_base_holosoma.npz",
     "minimal/npz_fps_scalar.npz minimal/npz_beyondmimic_29.npz", 1e-6),
    ("Eb015, processors and numbers", "c3d/btk_s01_Eb015pi.c3d", "c3d/btk_s01_Eb015*.c3d",
     1e-3 / 12.0),
    ("Eb015 and its copy", "c3d/btk_s01_Eb015pi.c3d", "c3d/btk_s08_TESTDPI.c3d", 1e-3 / 12.0),
    ("C3D and MAT of one take", "c3d/ktk_sprintbasket.c3d", "mat/ktk_sprintbasket.mat", 1e-6),
)  # fmt: skip
"""Name, base, masks of the files that hold the same motion, and the largest difference [m]."""


@dataclass
class Check:
    """Facts of a file held against the clip: what agrees, and what does not."""

    facts: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def same(self, what: str, found: Any, expected: Any) -> None:
        self.facts.append(f"{found} {what}")
        if found != expected:
            self.wrong.append(f"{what}: {found}, expected {expected}")

    def near(self, what: str, found: float, expected: float, relative: float) -> None:
        self.facts.append(f"{found:g} {what}")
        if not abs(found / expected - 1.0) <= relative:
            self.wrong.append(f"{what}: {found:g}, expected {expected:g}")

    def within(self, what: str, error: float, limit: float) -> None:
        self.facts.append(f"{what} to {error:.1g}")
        if not error <= limit:
            self.wrong.append(f"{what}: off by {error:.3g}, expected {limit:.1g}")


def match(name: str, table: dict[str, Any]) -> Any:
    """The value of the first mask that a file's name fits."""
    return next((value for mask, value in table.items() if fnmatch(name, mask)), None)


def options_for(name: str) -> ReadOptions:
    rate = match(name, RATE_GIVEN)
    return ReadOptions(fps=rate) if rate else ReadOptions()


def is_bad(name: str) -> bool:
    """Whether a file was made to be refused."""
    return bool(re.search(r"(^|[/_])bad_", name)) and name.startswith("minimal/")


def check_facts(folder: Path, name: str, clip: SourceClip) -> Check:
    """The facts of a file that was read."""
    check = Check()
    expected = json.loads((folder / "expected.json").read_text())
    path = folder / name
    kind = clip.provenance.format
    if isinstance(clip, MarkerClip) and kind in ("c3d", "trc", "mat"):
        _check_points(check, clip, kind, _points_expected(expected, path))
    elif isinstance(clip, MarkerClip):
        _check_joints(check, clip, path)
    elif isinstance(clip, SkeletonClip):
        _check_skeleton(check, clip, path, expected)
    elif isinstance(clip, SmplClip):
        _check_amass(check, clip, path)
    elif isinstance(clip, RobotMotion):
        _check_robot(check, clip, path, expected)
    if rate := match(name, RATE_GIVEN):
        check.near("1/s (given)", clip.fps, rate, 0.0)
    if in_name := re.search(r"_(\d+)hz", name):
        check.near("1/s (in its name)", clip.fps, float(in_name[1]), 0.0)
    return check


def to_file(clip: SourceClip, pos: np.ndarray) -> np.ndarray:
    """Positions in the unit and axes of the file."""
    turn = rotation.conjugate(np.array(clip.provenance.world_quat))
    return rotation.rotate(turn, pos) / clip.provenance.unit_scale


def _points_expected(expected: dict[str, Any], path: Path) -> dict[str, Any]:
    """Frames, rate, points, unit and range of a file of points."""
    if path.name in expected["c3d"]:
        row = expected["c3d"][path.name]["expected"]
        unit = (row.get("units") or [""])[0]
        return {"frames": row["frames"], "rate": row["rate"], "points": row["n_points"],
                "unit": unit, "low": row["xyz_min"], "high": row["xyz_max"],
                "zeros": row.get("pct_exact_zero", 0.0)}  # fmt: skip
    if path.name in expected["trc"]:
        row = expected["trc"][path.name]
        return {
            "frames": row["data_rows"],
            "rate": TIME_RATE.get(path.name, row["rate_from_time"]),
            "points": row["n_marker_names"],
            "unit": row["header"]["Units"],
            "low": row["xyz_min"],
            "high": row["xyz_max"],
            "zeros": row["pct_zero"],
        }
    if path.suffix == ".mat":
        return _count_mat(path)
    return _count_trc(path) if path.suffix == ".trc" else _count_c3d(path)


def _count_c3d(path: Path) -> dict[str, Any]:
    """Words 2, 4 and 5 of the header and its rate, of a file with Intel numbers."""
    head = path.read_bytes()[:512]
    points, _, first, last = struct.unpack("<HHHH", head[2:10])
    rate = struct.unpack("<f", head[20:24])[0]
    return {"frames": last - first + 1, "rate": float(np.float32(rate)), "points": points}


def _count_mat(path: Path) -> dict[str, Any]:
    """Times and series of MATLAB's timeseries, by scipy. The take is one frame shorter than its
    C3D, whose last frame the MAT lacks."""
    from scipy.io import loadmat

    series = loadmat(path, simplify_cells=True)["contents"]
    time = next(iter(series.values()))["Time"]
    rate = (len(time) - 1) / (time[-1] - time[0])
    return {"frames": len(time), "rate": rate, "points": len(series), "unit": "m"}


def _count_trc(path: Path) -> dict[str, Any]:
    """Names of the fourth line, and lines that begin with a number from the sixth on."""
    lines = path.read_text().splitlines()
    names = [word for word in re.split(r"[\t, ]+", lines[3])[2:] if word]
    rows = [row for line in lines[5:] if (row := re.split(r"[\t, ]", line))[0].isdigit()]
    times = [float(row[1]) for row in rows]
    rate = (len(times) - 1) / (times[-1] - times[0])
    return {"frames": len(rows), "rate": rate, "points": len(names)}


def _check_points(check: Check, clip: MarkerClip, kind: str, expected: dict[str, Any]) -> None:
    dropped = sum(int(note.value or 0) for note in clip.provenance.notes if note.code == "MK154")
    check.same("frames", clip.num_frames, expected["frames"])
    check.near("1/s", clip.fps, expected["rate"], RATE_TOLERANCE.get(kind, EXACT_RATE))
    if dropped:
        check.facts.append(f"{len(clip.labels)} markers and {dropped} outputs of a model")
        if len(clip.labels) + dropped != expected["points"]:
            check.wrong.append(f"{len(clip.labels)} + {dropped} points of {expected['points']}")
    else:
        check.same("points", len(clip.labels), expected["points"])
    metres = {"mm": 1e-3, "m": 1.0, "mete": 1.0}.get(expected.get("unit", ""))
    if metres:
        check.same("m a unit", clip.provenance.unit_scale, metres)
    if "low" not in expected:
        return
    pos = to_file(clip, clip.pos_w[clip.visible])
    low, high = np.array(expected["low"]), np.array(expected["high"])
    error = np.concatenate([low - pos.min(axis=0), pos.max(axis=0) - high])
    if not dropped and not expected["zeros"]:  # the same points: equal, not only inside
        error = np.abs(error)
    limit = ROUNDED + 2e-7 * np.abs(np.concatenate([low, high])).max()
    check.within("range", max(float(error.max()), 0.0), limit)


def _check_skeleton(check: Check, clip: SkeletonClip, path: Path, expected: dict[str, Any]) -> None:
    row = expected["bvh"].get(path.name)
    if row is None:
        small = expected["minimal_bvh"][path.name]
        check.same("joints", len(clip.joint_names), small["joints"])
        check.same("frames", clip.num_frames, small["frames"])
        written = re.search(r"Frame Time:\s*(\S+)", path.read_text("utf-8-sig"))
        assert written is not None
        check.near("1/s", clip.fps, 1.0 / float(written[1]), RATE_TOLERANCE["bvh"])
        return
    check.same("joints", len(clip.joint_names), row["joints"])
    check.same("frames", clip.num_frames, row["data_lines"])
    check.near("1/s", clip.fps, row["fps"], RATE_TOLERANCE["bvh"])
    if path.name.startswith("makehuman"):  # positions relative to OFFSET, which others ignore
        return
    pos, quat = clip.global_pose()
    at = clip.end_parents
    ends = pos[:, at] + rotation.rotate(quat[:, at], clip.end_offsets)
    pos = to_file(clip, np.concatenate([pos, ends], axis=1)).reshape(-1, 3)
    error = np.abs([pos.min(axis=0) - row["body_min_xyz"], pos.max(axis=0) - row["body_max_xyz"]])
    check.within("range", float(error.max()), ROUNDED)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Plain arrays of an ``.npz`` or ``.npy``, by numpy."""
    loaded = np.load(path, allow_pickle=False)
    return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)


def _check_amass(check: Check, clip: SmplClip, path: Path) -> None:
    arrays = _arrays(path)
    poses = arrays["poses"] if "poses" in arrays else arrays["pose_body"]
    check.same("frames", clip.num_frames, len(poses))
    rate = next(arrays[key] for key in ("mocap_framerate", "mocap_frame_rate") if key in arrays)
    check.near("1/s", clip.fps, float(rate.reshape(-1)[0]), EXACT_RATE)
    assert clip.betas is not None
    check.same("betas", len(clip.betas), arrays["betas"].reshape(-1).size)
    check.within("translation", float(np.abs(clip.trans_w - arrays["trans"]).max()), 0.0)


def _check_joints(check: Check, clip: MarkerClip, path: Path) -> None:
    arrays = _arrays(path)
    pos = next(arrays[key] for key in ("", "posed_joints", "joint_positions") if key in arrays)
    check.same("frames", clip.num_frames, len(pos))
    check.same("joints", len(clip.labels), pos.shape[1])
    check.within("positions", float(np.abs(to_file(clip, clip.pos_w) - pos).max()), 1e-6)
    if "" in arrays:
        check.near("1/s (by convention)", clip.fps, 20.0, 0.0)


def _check_robot(check: Check, clip: RobotMotion, path: Path, expected: dict[str, Any]) -> None:
    if path.suffix == ".csv":
        rows = [line.split(",") for line in path.read_text().splitlines() if line.strip()]
        if not re.match(r"[-+.\d]", rows[0][0]):
            rows = rows[1:]
        table = np.array(rows, dtype=float)
        check.same("frames", clip.num_frames, len(table))
        check.same("joints", clip.joint_pos.shape[1], table.shape[1] - 7)
        stated = expected["csv"].get(path.stem, {}).get("quat")
        order = stated or ("wxyz" if "wxyz" in path.stem else "xyzw")
        quat = table[:, 3:7] if order == "wxyz" else table[:, [6, 3, 4, 5]]
        quat = quat / np.linalg.norm(quat, axis=1, keepdims=True)
        check.facts.append(order)
        _check_motion(check, clip, table[:, :3], quat, table[:, 7:])
        if stated:
            z = expected["csv"][path.stem]["z"]
            error = max(abs(clip.root_pos_w[:, 2].min() - z[0]),
                        abs(clip.root_pos_w[:, 2].max() - z[1]))  # fmt: skip
            check.within("heights", error, ROUNDED)
        return
    arrays = _arrays(path)
    joint = arrays["joint_pos"] if "joint_pos" in arrays else arrays["dof_positions"]
    joint = joint[:, 7:] if joint.shape[1] == 36 else joint
    names = [str(name) for name in arrays.get("body_names", [])]
    pos = arrays["body_pos_w"] if "body_pos_w" in arrays else arrays["body_positions"]
    quat = arrays["body_quat_w"] if "body_quat_w" in arrays else arrays["body_rotations"]
    root = names.index("pelvis") if "pelvis" in names else 0
    check.same("frames", clip.num_frames, len(joint))
    check.same("joints", clip.joint_pos.shape[1], joint.shape[1])
    check.near("1/s", clip.fps, float(arrays["fps"].reshape(-1)[0]), EXACT_RATE)
    _check_motion(check, clip, pos[:, root], quat[:, root], joint)


def _check_motion(
    check: Check, clip: RobotMotion, root: np.ndarray, quat: np.ndarray, joint: np.ndarray
) -> None:
    """Root and joints as the file has them; a quaternion's sign means nothing."""
    check.within("root", float(np.abs(clip.root_pos_w - root).max()), 1e-6)
    aligned = np.abs(np.sum(clip.root_quat * quat, axis=1))
    check.within("orientation", float(np.abs(aligned - 1.0).max()), 1e-5)
    check.within("joint angles", float(np.abs(clip.joint_pos - joint).max()), 1e-6)
