"""The parser of BVH text: what it accepts means one thing, the rest is refused by name."""

from pathlib import Path

import numpy as np
import pytest

from motionkit.errors import InputError
from motionkit.formats.bvh_text import parse
from motionkit.formats.source import Source

TEXT = """HIERARCHY
ROOT Hips
{
  OFFSET 0 90.5 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Left Arm
  {
    OFFSET 1.5 -2 3e0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 1 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
1.5 2 3 4 5 6 7 8 9.25
-1 -2 -3 -4 -5 -6 -7 -8 -9
"""
VALUES = [[1.5, 2, 3, 4, 5, 6, 7, 8, 9.25], [-1, -2, -3, -4, -5, -6, -7, -8, -9]]


def read(data: bytes | str):
    data = data.encode() if isinstance(data, str) else data
    return parse(Source(Path("made.bvh"), data))


SAME = {
    "crlf": TEXT.replace("\n", "\r\n"),
    "cr": TEXT.replace("\n", "\r"),
    "byte-order mark": "\ufeff" + TEXT,
    "utf-16": TEXT.encode("utf-16"),
    "one line": TEXT.replace("\n", " "),
    "braces without blanks": TEXT.replace("\n{\n", "{").replace("}\n", "}"),
    "lower case": TEXT.replace("OFFSET", "offset").replace("CHANNELS", "Channels").replace(
        "JOINT", "Joint").replace("End Site", "end site").replace("rotation", "ROTATION").replace(
        "MOTION", "Motion").replace("HIERARCHY", "hierarchy").replace("ROOT", "Root"),
    "frames without colon": TEXT.replace("Frames:", "Frames").replace("Time:", "Time"),
    "frames glued": TEXT.replace("Frames: ", "FRAMES:").replace("Time: ", "time:"),
    "blank lines": TEXT.replace("MOTION\n", "MOTION\n\n\n").replace("9.25\n", "9.25\n\n"),
    "wrapped rows": TEXT.replace("5 6 7", "5\n6\n7"),
    "joined rows": TEXT.replace("9.25\n", "9.25 "),
    "blanks at ends": TEXT.replace("\n", " \t\n") + "\n \n",
    "exponents": TEXT.replace("1.5 2 3 4", "1.5E+00 2e0 30e-1 .4e1"),
    "no line end at the end": TEXT.rstrip(),
    "no HIERARCHY": TEXT.removeprefix("HIERARCHY\n"),
    "six-number offset": TEXT.replace("OFFSET 0 90.5 0", "OFFSET 0 90.5 0 10 20 30"),
    "comma separated": TEXT.replace("4 5 6", "4, 5, 6"),
    "decimal commas": TEXT.replace(".", ","),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SAME))
def test_spellings_of_one_file_are_one_file(name):
    text = read(SAME[name])
    np.testing.assert_array_equal(text.values, VALUES)
    assert [(j.name, j.parent, j.offset, j.ends) for j in text.joints] == [
        ("Hips", -1, (0.0, 90.5, 0.0), []),
        ("Left Arm", 0, (1.5, -2.0, 3.0), [(0.0, 1.0, 0.0)]),
    ]
    assert text.joints[1].channels == tuple(("rotation", axis) for axis in "ZXY")
    assert text.joints[1].first_column == 6
    assert text.frame_time == "0.0333333"


@pytest.mark.parametrize(
    "name",
    ["mixamorig:Hips", "Hüfte", "左足", "a.b-c", "Bip01 L Thigh", "Left_End", "End", "MOTION",
     '"quoted"', "ends in 1"],
)  # fmt: skip
def test_names_are_kept_as_spelt(name):
    assert read(TEXT.replace("Left Arm", name)).joints[1].name == name


def test_latin_1_names_are_read():
    assert read(TEXT.replace("Left Arm", "Fuß").encode("latin-1")).joints[1].name == "Fuß"


REFUSED = {
    "is not a count of frames": TEXT.replace("Frames: 2", "Frames: two"),
    "expected 'Frames: N' and 'Frame Time: S'": TEXT.replace("Frames: 2\n", ""),
    "declares 3 frames, holds 2": TEXT.replace("Frames: 2", "Frames: 3"),
    "declares 999999999999 frames, holds 2": TEXT.replace("Frames: 2", "Frames: 999999999999"),
    "holds 1 and 8 values of another": TEXT.replace("-8 -9", "-8"),
    "'x' at frame 1, column 2 is not a number": TEXT.replace("-2 -3", "-2 x"),
    "'-1.#IND' at frame 1, column 2 is not a number": TEXT.replace("-2 -3", "-2 -1.#IND"),
    "made.bvh: MOTION, joint Left Arm, Zrotation: inf at frame 1 is not finite":
        TEXT.replace("-7", "inf"),
    "made.bvh: MOTION, joint Hips, Zposition: 1e+30 at frame 0 is beyond 1e+09":
        TEXT.replace("2 3 4", "2 1e30 4"),
    "commas in the numbers are ambiguous": TEXT.replace("7 8 9.25", "7 8, 9, 25"),
    "a closing brace too many": TEXT.replace("MOTION", "}\nMOTION"),
    "joint Hips: 1 closing brace(s) missing before MOTION": TEXT.replace("}\nMOTION", "MOTION"),
    "ends before a MOTION section": TEXT[: TEXT.index("MOTION")],
    "joint Left Arm: has no OFFSET": TEXT.replace("OFFSET 1.5 -2 3e0", ""),
    "joint Left Arm, OFFSET: has 2 numbers": TEXT.replace("-2 3e0", "3"),
    "joint Left Arm, OFFSET: [nan, 1.0, 1.0] is not finite": TEXT.replace("1.5 -2 3e0", "nan 1 1"),
    "CHANNELS: 'Wrotation' is not a channel": TEXT.replace("Xrotation", "Wrotation"),
    "CHANNELS: 'OFFSET' is not a channel": TEXT.replace("CHANNELS 3", "CHANNELS 4").replace(
        "Yrotation\n    End", "Yrotation OFFSET\n    End"),
    "CHANNELS: 'many' is not a count": TEXT.replace("CHANNELS 3", "CHANNELS many"),
    "a position channel is listed twice": TEXT.replace("Yposition", "Xposition"),
    "no opening brace after JOINT 'Left Arm'": TEXT.replace("Left Arm\n  {", "Left Arm\n"),
    "'JOINT' where ROOT is expected": TEXT.replace("ROOT", "JOINT"),
    "unexpected 'FOO'": TEXT.replace("    OFFSET 1.5", "    FOO\n OFFSET 1.5"),
    "starts with 'Hello'": "Hello world",
    "holds NUL bytes": TEXT.replace("Left", "\0"),
    "holds no joint": "HIERARCHY\nMOTION\nFrames: 1\nFrame Time: 1\n",
    "no joint has a channel": "HIERARCHY ROOT a { OFFSET 0 0 0 } MOTION Frames: 1 Frame Time: 1",
    "starts as UTF-16 text but is not": b"\xff\xfe" + TEXT.encode()[:101],
}  # fmt: skip


@pytest.mark.parametrize("message", sorted(REFUSED))
def test_damage_is_refused_with_its_place_and_value(message):
    with pytest.raises(InputError) as caught:
        read(REFUSED[message])
    assert message in str(caught.value)
    assert str(caught.value).startswith("made.bvh: ")


def test_nesting_of_any_depth_is_read():
    depth = 3_000  # three times what recursion would bear
    joint = "JOINT j { OFFSET 0 1 0 CHANNELS 1 Xrotation "
    text = "HIERARCHY ROOT" + joint[5:] + joint * (depth - 1) + "}" * depth
    text += f" MOTION Frames: 1 Frame Time: 0.1 {'0 ' * depth}"
    assert len(read(text).joints) == depth


def test_a_hundred_thousand_frames_cost_no_python_per_number():
    row = "1.25 -2.5 3.125 4 5 6 7 8 9\n"
    head = TEXT[: TEXT.index("1.5 2 3")].replace("Frames: 2", "Frames: 100000")
    text = read(head + row * 100_000)
    assert text.values.shape == (100_000, 9)
    np.testing.assert_array_equal(text.values[-1], [float(v) for v in row.split()])
