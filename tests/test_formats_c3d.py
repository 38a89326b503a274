"""C3D: what was written comes back, and what is wrong is said."""

import re
from pathlib import Path

import numpy as np
import pytest
from builders_c3d import Made, build, floats
from hypothesis import given, settings
from hypothesis import strategies as st

from motionkit.errors import InputError
from motionkit.formats.c3d import read
from motionkit.formats.c3d_file import decode_file, to_floats, to_text
from motionkit.formats.source import ReadOptions, Source

PERSON = ("LASI", "RASI", "LPSI", "RPSI", "LKNE", "RKNE", "LANK", "RANK", "C7", "LFHD", "RFHD")
HEIGHTS = (950, 950, 950, 950, 480, 480, 80, 80, 1450, 1700, 1700)  # [mm]
WORLD_TO_FILE = 1000.0  # millimetres


def person(frames: int = 6, seed: int = 0, more: int = 0) -> tuple[np.ndarray, list[str]]:
    """Markers [mm] of someone who stands, and points above the floor beside them; Z up."""
    rng = np.random.default_rng(seed)
    labels = [*PERSON, *(f"X{i:03d}" for i in range(more))]
    pos = rng.uniform(10.0, 300.0, (frames, len(labels), 3))
    pos[:, : len(PERSON), 2] = HEIGHTS + rng.uniform(-15, 15, (frames, len(PERSON)))
    return pos.round(1), labels


def load(made: Made, **options):
    return read(Source(Path("made.c3d"), build(made)), ReadOptions(**options))


def refuse(made: Made | bytes) -> str:
    data = build(made) if isinstance(made, Made) else made
    with pytest.raises(InputError) as caught:
        read(Source(Path("made.c3d"), data), ReadOptions())
    return f"{caught.value} | {caught.value.help}"


def messages(clip, code: str) -> list[str]:
    return [note.message for note in clip.provenance.notes if note.code == code]


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1), processor=st.sampled_from(["pc", "dec", "sgi"]),
    is_float=st.booleans(), frames=st.sampled_from([1, 2, 5, 17]), more=st.integers(0, 20),
    channels=st.integers(0, 4), samples=st.sampled_from([1, 3, 10]), first=st.integers(1, 60000),
    block=st.sampled_from([2, 7]), gap=st.sampled_from([0, 3]),
)  # fmt: skip
def test_a_file_comes_back_whatever_its_processor_and_numbers(
    seed, processor, is_float, frames, more, channels, samples, first, block, gap
):
    rng = np.random.default_rng(seed)
    pos, labels = person(frames, seed, more)
    residual = rng.integers(0, 100, pos.shape[:2]).astype(float)
    how = rng.choice(["seen", "negative", "zero", "nan"], pos.shape[:2], p=[0.7, 0.1, 0.1, 0.1])
    if not is_float:
        how[how == "nan"] = "negative"
    how[0, :2] = "seen"
    stored = pos.copy()
    residual[how == "negative"] = -1.0
    stored[how == "zero"] = 0.0
    stored[how == "nan", 1] = np.nan
    analog = rng.integers(-2000, 2000, (frames * samples, channels)) if channels else None
    scales, offsets = rng.uniform(0.1, 2.0, channels), rng.integers(-50, 50, channels)
    more_parameters = {"ANALOG": {"SCALE": scales, "OFFSET": list(offsets), "GEN_SCALE": 0.5}}
    clip = load(Made(stored, labels, residual, processor=processor, is_float=is_float, first=first,
                     analog=analog, samples=samples, parameter_block=block, gap=gap,
                     parameters=more_parameters if channels else {}))  # fmt: skip
    expected = np.where((how == "seen")[..., None], pos, np.nan) / WORLD_TO_FILE
    # float32 holds 1700.0 mm to 6e-5 mm; an integer of 0.1 mm, which float32 holds to 1e-8
    np.testing.assert_allclose(clip.pos_w, expected, rtol=0, atol=1.3e-7)
    assert clip.labels == tuple(labels) and clip.fps == 100.0 and clip.first_frame == first
    assert clip.provenance.up == "z" and clip.provenance.unit_scale == 0.001
    counts = [f"{np.sum(how == kind)} by {word}" for kind, word in
              (("nan", "NaN"), ("negative", "a negative residual"), ("zero", "zeros"))
              if np.any(how == kind)]  # fmt: skip
    said = messages(clip, "MK152")
    assert len(said) == bool(counts) and all(said[0].endswith(", ".join(counts)) for _ in said)
    assert not messages(clip, "MK151") and not messages(clip, "MK150")
    if analog is None:
        assert clip.analog is None
        return
    assert clip.analog is not None
    values = (analog - offsets) * scales * 0.5
    np.testing.assert_allclose(clip.analog.values, values, rtol=1e-6, atol=1e-3 * 1e-3)
    assert clip.analog.fps == 100.0 * samples
    assert clip.analog.labels == tuple(f"A{i}" for i in range(channels))


@pytest.mark.parametrize("processor", ["pc", "dec", "sgi"])
def test_floats_of_each_processor_are_exact(processor):
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000) * 10.0 ** rng.uniform(-30, 30, 1000)
    values = np.append(values, [0.0, 1.0, -1.0, 0.1, 2.0**-100, -(2.0**100)]).astype(np.float32)
    data = np.frombuffer(floats(values.astype(float), processor), np.uint8)
    np.testing.assert_array_equal(to_floats(data, processor), values.astype(float))


def test_vax_floats_are_those_of_the_manual():
    # VAX Architecture Reference Manual: 1.0 is 0x00004080, -1.5 is 0x0000C0C0 (words swapped).
    data = np.frombuffer(bytes([0x80, 0x40, 0, 0, 0xC0, 0xC0, 0, 0, 0, 0, 0, 0]), np.uint8)
    np.testing.assert_array_equal(to_floats(data, "dec"), [1.0, -1.5, 0.0])


def test_more_than_255_labels_go_on_in_the_next_parameter():
    pos, labels = person(3, more=600)
    clip = load(Made(pos, labels))
    assert clip.labels == tuple(labels)
    np.testing.assert_allclose(clip.pos_w, pos / WORLD_TO_FILE, atol=1e-7)


@pytest.mark.parametrize(
    "frames, first", [(65535, 1), (70000, 1), (30000, 40000), (66000, 40000), (140000, 1)]
)
def test_more_frames_than_the_header_can_count_are_all_read(frames, first):
    pos = np.broadcast_to(np.arange(1.0, frames + 1)[:, None, None] / 1e5, (frames, 1, 3)).copy()
    clip = load(Made(pos, ["S"], first=first, unit="m"))
    assert clip.num_frames == frames and clip.first_frame == first
    assert clip.pos_w[-1, 0, 2] == pytest.approx(frames / 1e5)


@pytest.mark.parametrize(
    "parameters, header",
    [
        ({"POINT": {"FRAMES": 70000.0}, "TRIAL": {}}, {}),
        ({"POINT": {"LONG_FRAMES": 70000.0}}, {}),
        ({}, {5: 70000 - 65536}),  # a header that wraps
    ],
)
def test_long_files_are_counted_by_any_of_the_usual_parameters(parameters, header):
    pos = np.full((70000, 1, 3), 0.5)
    if "TRIAL" in parameters or "LONG_FRAMES" in parameters.get("POINT", {}):
        parameters["TRIAL"] = {"ACTUAL_START_FIELD": None, "ACTUAL_END_FIELD": None}
    clip = load(Made(pos, ["S"], unit="m", parameters=parameters, header=header))
    assert clip.num_frames == 70000 and not messages(clip, "MK151")


@pytest.mark.parametrize("frames", [70000, 70007])  # that fill the last block, and that do not
def test_a_long_file_that_nothing_counts_is_counted_by_its_bytes(frames):
    pos = np.full((frames, 2, 3), 0.5)
    nothing = {"TRIAL": {"ACTUAL_START_FIELD": None, "ACTUAL_END_FIELD": None}}
    clip = load(Made(pos, ["S", "T"], unit="m", parameters=nothing))
    assert clip.num_frames == frames
    said = f"frames are counted by the bytes, {frames}: the header cannot hold so many"
    assert messages(clip, "MK151") == [said]


def test_the_header_rules_and_disagreement_is_noted():
    pos, labels = person(20)
    analog = np.zeros((20, 6))
    plain = load(Made(pos, labels, analog=analog))
    made = Made(pos, labels, analog=analog, parameters={
        "POINT": {"USED": 7, "FRAMES": 21, "DATA_START": 3, "SCALE": 2.0, "RATE": 99.0},
        "ANALOG": {"USED": 0, "RATE": 100.0},
    })  # fmt: skip
    clip = load(made)
    np.testing.assert_array_equal(clip.pos_w, plain.pos_w)
    assert clip.fps == 100.0  # two votes against one
    assert messages(clip, "MK151") == [
        "data begin at block 4 by header, which is taken; POINT:DATA_START says 3",
        "scale is -0.1 in the header, which is taken, and 2 in POINT:SCALE",
        "20 frames are taken; POINT:FRAMES says 21",
        "POINT:USED says 7 points, the header 11, which is taken",
        "POINT:RATE is 99, the header has 100: 100 is taken",
    ]
    assert messages(clip, "MK181") == ["ANALOG:USED says 0 channels, the header 6, taken"]
    assert load(Made(pos, labels, parameters={"POINT": {"RATE": 99.0}})).fps == 99.0
    assert load(made, fps=50.0).fps == 50.0


def test_what_the_header_lost_comes_from_the_parameters():
    pos, labels = person(20)
    made = Made(pos, labels, is_float=False)
    plain = load(made)
    made.header = {9: 0, 7: 0.0, 11: 0.0}  # data start, scale, rate
    clip = load(made)
    np.testing.assert_array_equal(clip.pos_w, plain.pos_w)
    assert clip.fps == 100.0
    made.header = {4: 5, 5: 4}  # first and last frame
    clip = load(made)
    assert clip.num_frames == 20
    assert messages(clip, "MK151") == ["20 frames are taken; the header has frames 5 to 4"]


def test_parameters_that_count_too_much_do_not_spoil_a_sound_header():
    pos, labels = person(20)
    wide = {"TRIAL": {"ACTUAL_START_FIELD": [1, 0], "ACTUAL_END_FIELD": [9, 7]}}
    clip = load(Made(pos, labels, parameters=wide))
    assert clip.num_frames == 20
    said = "20 frames are taken; the parameters count 458761, more than the file holds"
    assert messages(clip, "MK151") == [said]
    # A header that wraps is another thing: the file is cut off.
    made = Made(np.full((70000, 1, 3), 0.5), ["S"], header={5: 70000 - 65536})
    assert "declares 70000 frames" in refuse(build(made)[:900_000])


def test_bytes_that_are_declared_by_nothing_are_noted():
    pos, labels = person(20)
    clip = load(Made(pos, labels, header={5: 10}, parameters={"POINT": {"FRAMES": 10}}))
    assert clip.num_frames == 10
    assert re.fullmatch(r"\d+ bytes after the 10 frames that are declared are left unread",
                        messages(clip, "MK151")[0])  # fmt: skip


def test_a_rate_is_the_decimal_that_was_meant():
    pos, labels = person()
    assert load(Made(pos, labels, rate=59.94)).fps == 59.94
    clip = load(Made(pos, labels, rate=59.94, processor="dec"))
    assert clip.fps == 59.94 and not messages(clip, "MK101")


def test_outputs_of_models_are_left_out_by_list_and_by_name():
    pos, labels = person(more=7)
    labels[-7:] = ["LKneeAngles", "Foo", "Bar", "RHipMoment", "ForcePlate1", "Baz", "L_ANKLE_POWER"]
    lists = {"POINT": {"ANGLES": ["Foo"], "TYPE_GROUPS": ["MINE", "SCALAR", "PLACES", "LENGTH"],
                       "MINE": ["Bar"], "PLACES": ["Baz"]}}  # fmt: skip
    clip = load(Made(pos, labels, parameters=lists))
    assert clip.labels == (*PERSON, "ForcePlate1", "Baz")
    np.testing.assert_allclose(clip.pos_w[:, -1], pos[:, -2] / WORLD_TO_FILE, atol=1e-7)
    assert messages(clip, "MK154") == [
        "5 of 18 points are outputs of a model and left out: LKneeAngles, Foo, Bar, RHipMoment, "
        "L_ANKLE_POWER"
    ]


@pytest.mark.parametrize("label", ["LFHD", "Force1", "Power", "Moment1", "Angles", "RForcePlate"])
def test_a_marker_is_no_output_of_a_model(label):
    pos, labels = person()
    labels[3] = label
    assert label in load(Made(pos, labels)).labels


def test_names_and_points_are_paired_in_order():
    pos, labels = person()
    short = load(Made(pos, labels[:-2]))
    assert short.labels == (*labels[:-2], "*10", "*11")
    assert messages(short, "MK180") == ["9 names for 11 points: the others are called *N"]
    long = load(Made(pos, [*labels, "Q1", "Q2"]))
    assert long.labels == tuple(labels)
    assert messages(long, "MK180") == [
        "13 names for 11 points: names past the last point are ignored"
    ]
    none = load(Made(pos, []))
    assert none.labels == tuple(f"*{i}" for i in range(1, 12))
    assert "cannot be read or are absent" in messages(none, "MK180")[0]


def test_prefixes_repeats_and_bytes_that_are_no_text_are_cleaned():
    pos, labels = person()
    named: list = [f"Ann:{label}".encode() for label in labels]
    named[1] = b"Ann:LASI"
    named[2] = "Ann:Schädel".encode("latin-1")
    named[3] = b"Ann:a\x01b\0junk"
    clip = load(Made(pos, named))
    assert clip.subject == "Ann"
    assert clip.labels[:4] == ("LASI", "LASI#2", "Schädel", "a?b")


@pytest.mark.parametrize("data, text", [
    (b"  \0", ""), (b"LFHD    ", "LFHD"), (b"F1x12\0", "F1x12"), (b"\0 N\0old", "N"),
    ("Ü ".encode(), "Ü"), (b"\xdc ", "Ü"), (b"a\x80b", "a?b"), (b"a\nb", "a?b"),
])  # fmt: skip
def test_text_is_read_leniently(data, text):
    assert to_text(data) == text


def test_a_parameter_without_description_and_one_that_is_cut_off_are_read_as_far_as_they_go():
    pos, labels = person()
    data = bytearray(build(Made(pos, labels)))
    at = data.index(b"LABELS")
    link = at + 6
    size = int.from_bytes(data[link : link + 2], "little")
    del data[link + size - 1]  # the length of the description, as in OptiTrack's files
    data[link : link + 2] = (size - 1).to_bytes(2, "little")
    data.insert(2 * 512 - 1, 0)  # the data stay at their block
    clip = read(Source(Path("made.c3d"), bytes(data)), ReadOptions())
    assert clip.labels == tuple(labels) and not messages(clip, "MK150")
    data = bytearray(build(Made(pos, labels, parameters={"LATER": {"LABELS": ["x" * 200] * 9}})))
    start = 512 * 2  # the data begin inside the last parameter
    made = bytes(data[:16]) + (3).to_bytes(2, "little") + bytes(data[18:start])
    moved = build(Made(pos, labels))
    made += moved[512 * (moved[16] - 1) :]
    clip = read(Source(Path("made.c3d"), made), ReadOptions())
    assert clip.labels == tuple(labels)
    assert messages(clip, "MK150")[0].startswith("parameter section: LATER:LABELS at byte ")


def test_reading_goes_on_behind_a_damaged_record():
    pos, labels = person()
    data = bytearray(build(Made(pos, labels)))
    at = data.index(b"DATA_START") - 2
    data[at + 12 : at + 14] = b"\xff\xff"  # its pointer
    clip = read(Source(Path("made.c3d"), bytes(data)), ReadOptions())
    assert clip.labels == tuple(labels) and clip.provenance.unit_source == "header"
    assert len(messages(clip, "MK150")) == 1
    data[at + 2 : at + 12] = bytes(range(10))  # its name too
    file = decode_file(Source(Path("made.c3d"), bytes(data)))
    assert file.texts("POINT", "LABELS") == labels
    assert re.fullmatch(r"no record at byte \d+, read on at \d+", file.damage[0])


def plate(**changes):
    corners = np.array([[400, 600, 0], [0, 600, 0], [0, 0, 0], [400, 0, 0]], float)
    return {
        "USED": 1,
        "TYPE": [2],
        "CORNERS": corners.T[:, :, None],
        "ORIGIN": [[1.0], [2.0], [-40.0]],
        "CHANNEL": [[1], [2], [3], [4], [5], [6]],
        **changes,
    }


def test_force_plates_are_placed_with_the_points():
    pos, labels = person()
    turned = pos[..., [1, 2, 0]]  # Y up
    analog = np.zeros((6, 8))
    groups = {"FORCE_PLATFORM": plate(TYPE=[4], CAL_MATRIX=np.arange(36.0).reshape(6, 6, 1))}
    corners = groups["FORCE_PLATFORM"]["CORNERS"][[1, 2, 0]]
    groups["FORCE_PLATFORM"]["CORNERS"] = corners
    clip = load(Made(turned, labels, analog=analog, parameters=groups))
    assert clip.provenance.up == "y"
    (found,) = clip.plates
    assert found.type == 4 and found.channels == ("A0", "A1", "A2", "A3", "A4", "A5")
    # (x, y, z) of a Y-up file is (x, -z, y): here (0.6, -0.4, 0)
    np.testing.assert_allclose(found.corners_w[0], [0.6, -0.4, 0.0], atol=1e-7)
    np.testing.assert_allclose(found.origin, [0.001, 0.002, -0.04], atol=1e-8)
    np.testing.assert_array_equal(found.calibration, np.arange(36.0).reshape(6, 6))
    groups["FORCE_PLATFORM"] |= {"TYPE": [5], "CHANNEL": np.arange(1, 9)[:, None],
                                 "CAL_MATRIX": np.arange(48.0).reshape(6, 8, 1)}  # fmt: skip
    (found,) = load(Made(turned, labels, analog=analog, parameters=groups)).plates
    assert found.calibration is not None
    assert found.calibration.shape == (6, 8) and found.calibration[1, 0] == 8.0


@pytest.mark.parametrize("changes, fault", [
    ({"CHANNEL": [[1], [2], [3], [4], [5], [9]]}, "has channels [1, 2, 3, 4, 5, 9], there are 8"),
    ({"CORNERS": np.zeros((3, 4, 1))}, "has all corners in one place"),
    ({"CORNERS": np.full((3, 4, 1), np.nan)}, "has corners that are no numbers"),
    ({"CORNERS": None}, "has no corners or origin"),
    ({"CHANNEL": None}, "has no channels"),
])  # fmt: skip
def test_a_force_plate_that_makes_no_sense_is_left_out_and_said(changes, fault):
    pos, labels = person()
    clip = load(Made(pos, labels, analog=np.zeros((6, 8)),
                     parameters={"FORCE_PLATFORM": plate(**changes)}))  # fmt: skip
    assert clip.plates == () and messages(clip, "MK181") == [f"force plate 1 {fault}; left out"]


def test_unsigned_analog_values_and_offsets_are_unsigned():
    pos, labels = person(2)
    stored = np.array([[65535.0], [32768.0]])
    unsigned = {"ANALOG": {"FORMAT": "UNSIGNED", "OFFSET": [32768]}}
    for is_float in (True, False):
        clip = load(Made(pos, labels, is_float=is_float, analog=stored, parameters=unsigned))
        assert clip.analog is not None
        np.testing.assert_array_equal(clip.analog.values, [[32767.0], [0.0]])
    clip = load(Made(pos, labels, is_float=False, analog=stored))
    assert clip.analog is not None
    np.testing.assert_array_equal(clip.analog.values, [[-1.0], [-32768.0]])


def test_offsets_of_float_counts_without_sign_have_none_either():
    pos, labels = person(2)
    given = {"ANALOG": {"OFFSET": [0x8000, -50], "FORMAT": "SIGNED"}}
    stored = np.array([[32768.0, -51.0], [32770.0, -49.0]])
    clip = load(Made(pos, labels, analog=stored, parameters=given))
    assert clip.analog is not None
    np.testing.assert_array_equal(clip.analog.values, [[0.0, -1.0], [2.0, 1.0]])
    assert messages(clip, "MK181") == [
        "ANALOG:OFFSET of 1 channels is taken without sign, as values are"
    ]


def test_inconsistent_analog_is_a_note_and_the_motion_is_read():
    pos, labels = person(4)
    made = Made(pos, labels, analog=np.ones((12, 2)), samples=3, parameters={
        "ANALOG": {"SCALE": [2.0], "OFFSET": None, "RATE": 1000.0, "LABELS": ["A", "A"]}
    })  # fmt: skip
    clip = load(made)
    assert messages(clip, "MK181") == [
        "ANALOG:RATE says 1000, 3 samples a frame make 300, taken",
        "ANALOG:OFFSET has 0 values for 2 channels; others take 0",
        "ANALOG:SCALE has 1 values for 2 channels; others take 1",
    ]
    assert clip.analog is not None
    np.testing.assert_array_equal(clip.analog.values, np.tile([2.0, 1.0], (12, 1)))
    assert clip.analog.labels == ("A", "A#2")
    made.header = {10: 4}
    clip = load(made)
    assert clip.analog is None and clip.num_frames == 4
    assert "no multiple of 4 samples" in messages(clip, "MK181")[0]


def test_hints_on_axes_are_shown_and_not_used():
    pos, labels = person()
    clip = load(Made(pos, labels, parameters={"POINT": {"X_SCREEN": "+X", "Y_SCREEN": "-Y"}}))
    assert clip.provenance.up == "z"
    assert messages(clip, "MK182") == ["the file states X_SCREEN +X, Y_SCREEN -Y; the up axis is "
                                       "taken from the motion instead"]  # fmt: skip


def _bytes(change) -> bytes:
    pos, labels = person()
    data = bytearray(build(Made(pos, labels)))
    change(data)
    return bytes(data)


POS, LABELS = person()
REFUSED = {
    "no points": (
        Made(POS[:, :0], [], analog=np.ones((6, 8))),
        "made.c3d: header: holds 8 analog channels and no points | "
        "motionkit reads labelled points; export them too",
    ),
    "no points, some said": (
        Made(POS[:, :0], [], parameters={"POINT": {"USED": 5}}),
        "made.c3d: header: holds no points, though POINT:USED says 5 | "
        "motionkit reads labelled points; export them too",
    ),
    "no frames": (
        Made(POS[:0], LABELS, parameters={"POINT": {"FRAMES": 0}}),
        "made.c3d: header: frames 1 to 0: holds no frames | record or export it again",
    ),
    "outputs only": (
        Made(POS[:, :2], ["LKneeAngles", "RKneeAngles"]),
        "made.c3d: POINT:LABELS: all 2 points are outputs of a model, none is a marker: "
        "LKneeAngles, RKneeAngles | export the markers, not the results",
    ),
    "too many frames": (
        Made(POS, LABELS, header={5: 500}),
        "made.c3d: header: declares 500 frames of 176 bytes from byte 1024, 89024 bytes in all; "
        "the file has 2560, enough for 8 frames (POINT:FRAMES says 6) | "
        "the file is cut off or its header is wrong; copy or export it again",
    ),
    "cut off": (
        build(Made(POS, LABELS))[:1700],
        "made.c3d: header: declares 6 frames of 176 bytes from byte 1024, 2080 bytes in all; "
        "the file has 1700, enough for 3 frames | "
        "the file is cut off or its header is wrong; copy or export it again",
    ),
    "short": (
        b"\x02\x50abc",
        "made.c3d: has 5 bytes, a C3D header alone has 512 | copy or download it again",
    ),
    "signature": (
        _bytes(lambda data: data.__setitem__(1, 0)),
        "made.c3d: header: second byte is 0, of a C3D file it is 80 | is it another format?",
    ),
    "parameters outside": (
        _bytes(lambda data: data.__setitem__(0, 255)),
        "made.c3d: header: says that parameters begin at block 255, the file has 5 blocks and "
        "they begin at 2 or later | the file is damaged; export it again",
    ),
    "processor": (
        _bytes(lambda data: data.__setitem__(515, 87)),
        "made.c3d: parameters, byte 515: processor is 87, expected 84 (PC), 85 (DEC) or 86 (SGI) "
        "| the file is damaged; export it again",
    ),
    "data outside": (
        Made(POS, LABELS, header={9: 999}, parameters={"POINT": {"DATA_START": None}}),
        "made.c3d: header: data begin at block 999, the file has 5 blocks | "
        "the file is damaged or cut off; copy or export it again",
    ),
    "no scale": (
        Made(POS, LABELS, header={7: 0.0}, parameters={"POINT": {"SCALE": float("inf")}}),
        "made.c3d: header: scale is 0 in the header and inf in POINT:SCALE | "
        "the file is damaged; export it again",
    ),
    "no coordinates": (
        Made(POS * 1e7, LABELS),
        "made.c3d: data: 100 % of the points are beyond 1e+07 units: no positions | "
        "the header names the wrong place or kind of numbers; export again",
    ),
    "no rate": (
        Made(POS, LABELS, rate=0.0),
        "made.c3d: POINT:RATE: 0 gives no usable rate, expected 2 to 2000 frames a second | "
        "give the rate with --source-fps",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_by_name(name):
    made, message = REFUSED[name]
    assert refuse(made) == message
