"""Marker sets: their tables, recognition by label, the user's map."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from motionkit.clip import SMPLH_JOINTS
from motionkit.errors import ConfigError, InputError
from motionkit.human.markers.catalogue import clean, landmarks, marker_sets
from motionkit.human.markers.sets import marker_set, match, read_marker_map, recognise
from motionkit.human.skeleton import embedded_rest

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "markers.md"
SETS = {each.name: each for each in marker_sets()}
WHOLE = [name for name in SETS if name not in ("plug_in_gait_upper", "anatomical")]
REST = dict(zip(SMPLH_JOINTS, embedded_rest(1.0), strict=True))
PIG_LEGS = [side + name for side in "LR" for name in ("ASI", "THI", "KNE", "TIB", "ANK", "HEE",
                                                      "TOE")]  # fmt: skip
REAL = {  # file to set and number of labels that have a marker
    "c3d/btk_pig_cal_ff_one.c3d": ("plug_in_gait", 41),
    "c3d/btk_o_Gait.c3d": ("helen_hayes", 33),
    "c3d/btk_o_shd01.c3d": ("plug_in_gait_trunk", 27),
    "c3d/btk_s01_Eb015pr.c3d": ("clusters", 26),
    "c3d/btk_s02_dec_int.c3d": ("clusters", 36),
    "c3d/ezc3d_BTS.c3d": ("davis_bts", 16),
    "c3d/ezc3d_FP_Type3.c3d": ("plates", 34),
    "c3d/ezc3d_Qualisys.c3d": ("cast", 55),
    "trc/btk_Gait.trc": ("helen_hayes", 33),
    "trc/btk_MOTEK_T.trc": ("cmu41", 41),
    "trc/osim_init100.trc": ("helen_hayes", 22),
    "trc/osim_walk_free_01.trc": ("opensim_gait2392", 41),
    "trc/osim_std_walking5_markers.trc": ("femoral_condyles", 40),
    "trc/p2sblender_Pose2Sim_markers.trc": ("halpe26", 21),
    "trc/pose2sim_Balancing_LSTM.trc": ("opencap", 64),
}


def at_rest(marker):
    """Where a marker is in the T-pose, pelvis at the origin, in shares of stature."""
    return REST[marker.segment] + np.array(marker.place)


def core(name):
    return [marker.label for marker in SETS[name].markers if not marker.is_optional]


# The tables.


@pytest.mark.parametrize("name", SETS)
def test_no_two_markers_of_a_set_share_a_spelling(name):
    spellings = [s for marker in SETS[name].markers for s in marker.spellings]
    assert len(set(spellings)) == len(spellings)


@pytest.mark.parametrize("name", SETS)
def test_a_set_names_its_source_and_its_landmarks(name):
    assert SETS[name].title and SETS[name].source
    for marker in SETS[name].markers:
        assert "{" not in "".join((marker.label, *marker.aliases))
        known = landmarks()[marker.landmark]
        assert (marker.segment, marker.place) == (known.segment, known.place)
        assert 0.0 < marker.sigma <= 0.15


def test_sides_mirror_each_other():
    known = landmarks()
    sided = [name for name in known if name[0] == "L" and "R" + name[1:] in known]
    assert len(sided) > 60
    for name in sided:
        left, right = known[name], known["R" + name[1:]]
        np.testing.assert_allclose(np.array(left.place) * [1, -1, 1], right.place, atol=1e-15)
        assert left.segment.replace("left", "right") == right.segment
        assert REST[left.segment][1] + left.place[1] >= 0.0


def test_no_landmark_is_in_the_air():
    bones = [(REST[a], REST[b]) for a, b in (
        ("pelvis", "neck"), ("neck", "head"), ("left_hip", "left_knee"),
        ("left_knee", "left_ankle"),
        ("left_ankle", "left_foot"), ("left_collar", "left_shoulder"), ("left_hip", "right_hip"),
        ("left_shoulder", "left_elbow"), ("left_elbow", "left_wrist"),
        ("left_wrist", "left_middle3"))]  # fmt: skip
    for name, landmark in landmarks().items():
        if name[0] == "R" or name == "SACRAL_WAND":
            continue
        p = REST[landmark.segment] + np.array(landmark.place)
        away = min(_to_bone(p, *bone) for bone in bones) * 1.75
        assert away < (0.01 if landmark.is_joint and "MIDDLE" not in name else 0.17), name


def _to_bone(p, a, b):
    share = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.linalg.norm(p - a - share * (b - a))


def test_landmarks_lie_as_anatomy_has_them():
    p = {name: REST[mark.segment] + np.array(mark.place) for name, mark in landmarks().items()}
    x, y, z = ({name: value[i] for name, value in p.items()} for i in range(3))
    assert x["LASI"] > x["LHIP"] > x["LPSI"] and x["HEAD_FOREHEAD"] > x["HEAD_OCCIPUT"]
    assert y["LASI"] > y["LPSI"] > y["SACR"] == 0.0
    assert y["LKNEE_LATERAL"] > y["LKNEE"] > y["LKNEE_MEDIAL"]
    assert y["LANKLE_LATERAL"] > y["LANKLE_MEDIAL"] and y["LMETATARSAL5"] > y["LMETATARSAL1"]
    assert x["LHEEL"] < x["LANKLE"] < x["LMETATARSAL5"] < x["LMETATARSAL1"] < x["LBIG_TOE"]
    assert z["LELBOW_LATERAL"] > z["LELBOW_MEDIAL"]  # palms down, pits of the elbows forward
    assert x["LWRIST_THUMB"] > x["LWRIST_PINKY"] and x["LKNUCKLE2"] > x["LKNUCKLE5"]
    order = ["SACR", "L5", "L3", "L1", "T12", "T10", "T8", "T5", "T3", "T2", "T1", "C7", "HEAD_TOP"]
    assert all(z[low] < z[high] for low, high in itertools.pairwise(order))
    assert z["JUGULAR_NOTCH"] > z["STERNUM"] > z["XIPHOID"] > z["NAVEL"]


# Recognition.


@pytest.mark.parametrize("name", WHOLE)
def test_each_set_is_recognised_by_its_own_labels(name):
    labels = [marker.label for marker in SETS[name].markers]
    found = recognise(labels, where="clip")
    assert found.marker_set.name == name
    assert {label: marker.label for label, marker in found.markers.items()} == {
        label: label for label in labels
    }
    assert found.unmapped == () and found.score == 1.0


@pytest.mark.parametrize("name", [n for n in WHOLE if n not in ("cmu53", "clusters")])
def test_each_set_is_recognised_by_what_all_its_recordings_have(name):
    labels = core(name)
    if name in ("cast", "halpe26"):  # the landmarks that tell these from their like are optional
        labels = labels + [marker.label for marker in SETS[name].markers][-2:]
    found = recognise(labels, where="clip")
    meant = {m.label: m.landmark for m in SETS[name].markers}
    assert {label: m.landmark for label, m in found.markers.items()} == {
        label: meant[label] for label in labels
    }


def test_case_and_punctuation_do_not_matter():
    rng = np.random.default_rng(0)
    for name in ("plug_in_gait", "opensim_gait2392", "cast", "davis_bts"):
        labels = [marker.label for marker in SETS[name].markers]
        odd = [_disguise(label, rng) for label in labels]
        found = recognise(odd, where="clip")
        assert [found.markers[label].label for label in odd] == labels


def _disguise(label, rng):
    text = "".join(c.lower() if rng.random() < 0.5 else c.upper() for c in label)
    i = int(rng.integers(len(text) + 1))
    return text[:i] + str(rng.choice([".", "_", "-", " ", ":"])) + text[i:]


def test_labels_in_any_order_mean_the_same():
    labels = [*core("plug_in_gait"), "LKNE#2", "Box1"]
    first = recognise(labels, where="clip")
    again = recognise(labels[::-1], where="clip")
    assert first.markers == again.markers and first.unmapped == again.unmapped
    assert list(again.markers) == [label for label in labels[::-1] if label in again.markers]


def test_a_repeated_label_is_not_the_same_marker_twice():
    found = recognise([*PIG_LEGS, "LKNE#2", "L_KNE"], where="clip")
    assert found.unmapped == ("LKNE#2", "L_KNE")
    names = [marker.label for marker in found.markers.values()]
    assert len(set(names)) == len(names)


def test_legs_alone_are_the_lower_body_and_the_note_says_what_is_bare():
    found = recognise(PIG_LEGS, where="clip")
    assert found.marker_set.name == "plug_in_gait_lower"
    assert [(note.code, note.message) for note in found.notes] == [
        ("MK176",
         "14 of 14 labels are markers of plug_in_gait_lower (Plug-in Gait, lower body)"),
        ("MK179",
         "no marker on the trunk or the left arm or the right arm or the head; its joints keep to "
         "their parents"),
    ]  # fmt: skip


def test_labels_left_over_are_borrowed_only_where_their_meaning_is_plain():
    found = recognise([*PIG_LEGS, "LGTR", "TV2", "LMM", "RA", "Xylophone"], where="clip")
    assert {label: found.markers[label].landmark for label in ("LGTR", "TV2")} == {
        "LGTR": "LTROCHANTER", "TV2": "T2"}  # fmt: skip
    assert found.unmapped == ("LMM", "RA", "Xylophone")  # LMM is too short to be sure of
    assert "by their usual meaning also LGTR (LTROCHANTER), TV2 (T2)" in found.notes[0].message
    assert found.notes[1].code == "MK178"


def test_a_dictionary_of_landmarks_stands_in_where_no_set_fits():
    labels = ["ASISr", "ASISl", "PSISr", "PSISl", "RKneeLat", "LKneeLat", "RAnkleLat", "LAnkleLat"]
    found = recognise(labels, where="clip")
    assert found.marker_set.name == "anatomical"
    assert found.markers["ASISl"].landmark == "LASI"


def test_the_chosen_set_is_taken_and_others_are_not():
    assert recognise(PIG_LEGS, "plug_in_gait", where="clip").marker_set.name == "plug_in_gait"
    with pytest.raises(InputError, match="by the set cast; none matches a label"):
        recognise(PIG_LEGS, "cast", where="clip")
    with pytest.raises(ConfigError, match="unknown marker set: plugin_gait") as caught:
        recognise(PIG_LEGS, "plugin_gait", where="clip")
    assert caught.value.help.startswith("did you mean plug_in_gait? marker sets are: plug_in_gait")


def test_a_tie_between_meanings_is_said(monkeypatch):
    from dataclasses import replace

    from motionkit.human.markers import sets

    legs = SETS["plug_in_gait_lower"]
    other = replace(legs, name="mirrored", markers=tuple(
        replace(m, landmark="RHEEL") if m.label == "LHEE" else m
        for m in legs.markers))  # fmt: skip
    monkeypatch.setattr(sets, "marker_sets", lambda: (legs, other))
    found = recognise(PIG_LEGS, where="clip")
    assert found.marker_set is legs
    assert "MK177" in [note.code for note in found.notes]
    assert "as many labels belong to mirrored; plug_in_gait_lower was taken" in [
        note.message for note in found.notes
    ]


def test_no_body_is_refused_with_what_was_found():
    with pytest.raises(InputError) as caught:
        recognise(["LASI", "RASI", "LPSI", "RPSI", "LKNE", "LANK", "Box"], where="a.c3d")
    assert str(caught.value) == (
        "a.c3d: labels: 7 labels (LASI, RASI, LPSI, RPSI, LKNE, LANK, Box) do not show a body by "
        "any known set; labels matched: plug_in_gait_lower 6, plug_in_gait 6, helen_hayes 6, "
        "plug_in_gait_trunk 4, ior 4"
    )
    assert caught.value.help == (
        "needed are the pelvis with both legs, or with the trunk and both arms; name the markers "
        "in a TOML file and give it with --marker-map (docs/markers.md)"
    )
    for labels in ([], ["*1"] * 3, ["M001", "M002"]):
        with pytest.raises(InputError, match="do not show a body"):
            recognise(labels, where="a.c3d")


@pytest.mark.parametrize("file", REAL)
def test_real_files_are_recognised(shared, file):
    from motionkit.formats import read_clip

    clip = read_clip(shared / "data/formats" / file)
    found = recognise(clip.labels, where=file)
    assert (found.marker_set.name, len(found.markers)) == REAL[file]


def test_markers_of_a_real_static_trial_lie_where_the_set_says(shared):
    """Lengths between markers of one part, in a standing person 1.78 m tall, within 2.2 sigma."""
    from motionkit.formats import read_clip

    clip = read_clip(shared / "data/formats/c3d/btk_pig_cal_ff_one.c3d")
    found = recognise(clip.labels, where="static").markers
    pos = {label: clip.pos_w[0, clip.labels.index(label)] for label in found}
    checked = 0
    for a, b in itertools.combinations(found, 2):
        if found[a].segment == found[b].segment:
            nominal = 1.78 * np.linalg.norm(at_rest(found[a]) - at_rest(found[b]))
            off = np.linalg.norm(pos[a] - pos[b]) - nominal
            assert abs(off) < 2.2 * np.hypot(found[a].sigma, found[b].sigma), (a, b, off)
            checked += 1
    assert checked > 40


# The user's map.


def write(tmp_path, text):
    path = tmp_path / "lab.toml"
    path.write_text(text)
    return path


def test_a_map_renames_adds_borrows_and_replaces(tmp_path):
    path = write(tmp_path, """
stature = 1.80
extends = "plug_in_gait_lower"
rename = { "Knee_L" = "LKNE", "Knee_R" = "rkne" }
[markers]
LPLATE = { segment = "left_knee", place = [0.018, 0.09, -0.18], sigma = 0.05 }
BACK = "plug_in_gait:T10"
LHEE = { landmark = "LHEEL_LATERAL" }
NECKC = { segment = "neck", place = [0.0, 0.0, 0.0], joint = true }
""")  # fmt: skip
    labels = [label.replace("LKNE", "Knee_L").replace("RKNE", "Knee_R") for label in PIG_LEGS]
    found = read_marker_map(path, [*labels, "LPLATE", "BACK", "NECKC", "Stick"], where="a.c3d")
    assert found.markers["Knee_L"].landmark == "LKNEE_LATERAL"
    assert found.markers["Knee_R"].landmark == "RKNEE_LATERAL"
    assert found.markers["LHEE"].landmark == "LHEEL_LATERAL"
    assert found.markers["BACK"].place == landmarks()["T10"].place
    plate = found.markers["LPLATE"]
    assert (plate.segment, plate.near, plate.sigma) == ("left_knee", "left_knee", 0.05)
    np.testing.assert_allclose(plate.place, [0.01, 0.05, -0.10])
    assert found.markers["NECKC"].is_joint
    assert found.unmapped == ("Stick",)
    assert found.marker_set.name == "lab.toml"


def test_a_map_gives_places_in_shares_where_it_states_no_stature(tmp_path):
    rows = "\n".join(f'{label} = "plug_in_gait:{label}"' for label in PIG_LEGS)
    path = write(tmp_path, f'[markers]\n{rows}\nQ = {{ segment = "head", place = [0, 0.04, 0.1] }}')
    found = read_marker_map(path, [*PIG_LEGS, "Q"], where="a.c3d")
    assert found.markers["Q"].place == (0.0, 0.04, 0.1)
    assert found.markers["LKNE"].place == landmarks()["LKNEE_LATERAL"].place


def test_a_map_that_shows_no_body_is_refused(tmp_path):
    path = write(tmp_path, 'extends = "cast"\n')
    with pytest.raises(InputError, match=r"a.c3d: labels: 14 labels .* by the set lab.toml"):
        read_marker_map(path, PIG_LEGS, where="a.c3d")


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("markers = ", "is not valid TOML", "docs/markers.md"),
        ("", "names no markers", "give extends"),
        ('extend = "cast"', "unknown key: extend", "did you mean extends? the keys are: stature"),
        ('extends = "casts"', "extends: unknown marker set: casts", "did you mean cast?"),
        ("stature = 175", "stature: found 175, expected a number from 0.5 to 2.5 m", ""),
        ("stature = true", "stature: found True, expected a number from 0.5 to 2.5 m", ""),
        ("markers = 3", "markers: found 3, expected a table", ""),
        ('[markers]\nQ = "LKNE"', "markers.Q: found 'LKNE', expected set:LABEL",
         "write plug_in_gait:LKNE"),
        ('[markers]\nQ = "pig:LKNE"', "markers.Q: unknown marker set: pig", "marker sets are"),
        ('[markers]\nQ = "cast:L_FLX"', "markers.Q: cast has no marker L_FLX",
         "did you mean L_FLE?"),
        ("[markers]\nQ = {}", "markers.Q: lacks segment", "give segment and place, or landmark"),
        ('[markers]\nQ = { segment = "left_nee", place = [0, 0, 0] }',
         "markers.Q.segment: found 'left_nee', expected a joint of SMPL-H",
         "did you mean left_knee?"),
        ('[markers]\nQ = { segment = "head", place = [0, 0] }',
         "markers.Q.place: found [0, 0], expected three numbers", "write [x, y, z]"),
        ('[markers]\nQ = { segment = "head", place = [0, 0, 80] }',
         "markers.Q.place: found 80, expected a number from -0.5 to 0.5 shares of stature",
         "give stature in metres"),
        ('[markers]\nQ = { segment = "head", place = [0, 0, nan] }',
         "markers.Q.place: found nan", ""),
        ('[markers]\nQ = { segment = "head", place = [0, 0, 0], sigma = 20 }',
         "markers.Q.sigma: found 20, expected a number from 0.001 to 0.5 m", ""),
        ('[markers]\nQ = { segment = "head", place = [0, 0, 0], joint = 1 }',
         "markers.Q.joint: found 1, expected true or false", ""),
        ('[markers]\nQ = { landmark = "LKNEE" , place = [0, 0, 0] }',
         "markers.Q: has landmark and place", "give one of the two"),
        ('[markers]\nQ = { landmark = "lknee_lateral" }',
         "markers.Q.landmark: found 'lknee_lateral', expected a known landmark",
         "did you mean LKNEE_LATERAL?"),
        ('[markers]\nQ = { segment = "head", plaice = [0, 0, 0] }',
         "markers.Q: unknown key: plaice", "did you mean place?"),
        ('extends = "cast"\nrename = { A = "L_FLX" }',
         "rename.A: found 'L_FLX', expected the label of a marker", "did you mean L_FLE?"),
    ],
)  # fmt: skip
def test_a_wrong_map_is_refused_by_file_key_and_value(tmp_path, text, message, help):
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_marker_map(path, PIG_LEGS, where="a.c3d")
    assert str(path) in str(caught.value) and message in str(caught.value)
    assert help in caught.value.help
    assert "\n" not in str(caught.value)


def test_a_map_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none.toml: cannot be read: No such file"):
        read_marker_map(tmp_path / "none.toml", PIG_LEGS, where="a.c3d")


def test_cleaning_keeps_what_tells_labels_apart():
    assert clean("l.k n-e_:") == "LKNE"
    assert clean("LKNE#2") != clean("LKNE")


def test_matching_serves_canonical_labels_first():
    found = match(marker_set("helen_hayes"), ["RTIB", "R.Shank", "RSHA"])
    assert {label: marker.label for label, marker in found.items()} == {"R.Shank": "R.Shank"}


def test_repeated_labels_of_helen_hayes_are_the_medial_markers():
    """Cortex cuts R.Knee and R.Knee.Medial to the same four letters."""
    labels = ["RASI", "LASI", "VSAC", "RSHA", "LSHA", "RKNE", "LKNE", "RANK", "LANK", "RKNE#2"]
    found = recognise(labels, where="clip")
    assert found.marker_set.name == "helen_hayes"
    assert found.markers["RKNE#2"].landmark == "RKNEE_MEDIAL"


def test_the_document_lists_every_set_as_it_is():
    text = DOCUMENT.read_text("utf-8")
    for each in marker_sets():
        row = f"| `{each.name}` | {each.title} | {len(each.markers)} | {each.source} |"
        assert row in text, f"docs/markers.md lacks: {row}"


def test_the_example_of_the_document_works(tmp_path):
    example = DOCUMENT.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    path = write(tmp_path, example)
    labels = [label.replace("LKNE", "Knee_L").replace("RKNE", "Knee_R") for label in PIG_LEGS]
    extra = ["LPLATE", "RTRO", "BACK", "NECKC"]
    found = read_marker_map(path, [*labels, *extra], where="a.c3d")
    assert found.unmapped == ()
    assert found.markers["RTRO"].segment == "right_hip"
