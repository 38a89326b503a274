"""Identities: equal for equal settings, different for any other, and able to say why."""

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pytest
from builders import PROVENANCE, gantry
from hypothesis import given
from hypothesis import settings as using
from hypothesis import strategies as st

from motionkit.cache import SCHEMA, CacheIdentity, canonical_json, identify
from motionkit.errors import ConfigError, InputError


@dataclass(frozen=True)
class Stage:
    weight: float = 10.0
    steps: int = 500
    solver: str = "lm"
    cap: float | None = None
    exact: bool = True


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return gantry(tmp_path_factory.mktemp("robot"))


@pytest.fixture
def identity(robot):
    return identify(robot, PROVENANCE, fps=30.0, body="embedded",
                    settings={"retarget": Stage(), "human": {"stature": 1.7}})  # fmt: skip


CHANGES = {
    "schema": SCHEMA + 1,
    "motionkit": "0.0.9",
    "robot": "other",
    "robot_sha256": "1" * 64,
    "joint_names": ("a", "b"),
    "joint_range": ((0.0, None),),
    "body_names": ("a",),
    "fps": 60.0,
    "source_sha256": "2" * 64,
    "source_format": "amass",
    "reader_options": {"up": "y"},
    "body": "smplh 12ab",
    "frames": (0, 100),
    "settings": {"retarget": {"weight": 11.0}},
}


def test_every_field_is_changed_below():
    assert set(CHANGES) == {f.name for f in fields(CacheIdentity)}


@pytest.mark.parametrize("field", sorted(CHANGES))
def test_a_change_of_any_field_changes_the_fingerprint_and_is_named(identity, field):
    other = replace(identity, **{field: CHANGES[field]})
    assert other.fingerprint != identity.fingerprint
    differences = identity.differences(other)
    assert differences
    assert {d.field.split(".")[0].split("[")[0] for d in differences} == {field}


def test_fingerprint_is_that_of_the_canonical_json(identity):
    text = json.dumps(identity.as_dict(), sort_keys=True, separators=(",", ":"))
    assert identity.fingerprint == hashlib.sha256(text.encode()).hexdigest()


def test_identity_survives_its_json(identity):
    text = json.dumps(identity.as_dict())
    back = CacheIdentity.from_dict(json.loads(text), "here")
    assert back == identity
    assert back.fingerprint == identity.fingerprint
    assert back.differences(identity) == []


def test_whole_floats_and_integers_are_one_setting(robot):
    made = [identify(robot, PROVENANCE, fps=fps, body="embedded", settings={"a": {"w": w}})
            for fps, w in ((30, 10), (30.0, 10.0), (np.float64(30), np.int64(10)))]  # fmt: skip
    assert len({m.fingerprint for m in made}) == 1


def test_true_and_one_are_two_settings(robot):
    one, true = (identify(robot, PROVENANCE, fps=30.0, body="embedded", settings={"a": {"w": w}})
                 for w in (1, True))  # fmt: skip
    assert [d.field for d in one.differences(true)] == ["settings.a.w"]
    assert one.fingerprint != true.fingerprint


def test_order_of_settings_is_immaterial(robot):
    orders = ({"x": {"p": 1, "q": 2}, "y": {}}, {"y": {}, "x": {"q": 2, "p": 1}})
    a, b = (identify(robot, PROVENANCE, fps=30.0, body="b", settings=order) for order in orders)
    assert a.fingerprint == b.fingerprint


def test_path_of_the_source_is_no_part_of_it(robot):
    a, b = (identify(robot, replace(PROVENANCE, path=path), fps=30.0, body="b", settings={})
            for path in ("x/a.bvh", "y/a.bvh"))  # fmt: skip
    assert a == b


def test_a_difference_names_field_and_both_values(identity):
    settings = {"retarget": asdict(Stage(steps=20)), "human": {"stature": 1.7, "spine": 3}}
    other = replace(identity, fps=60.0, settings=settings)
    assert [str(d) for d in identity.differences(other)] == [
        "fps is 30, wanted 60",
        "settings.human.spine is absent, wanted 3",
        "settings.retarget.steps is 500, wanted 20",
    ]


def test_a_partial_expectation_compares_only_its_fields(identity):
    assert identity.differences({"fps": 30, "robot": "gantry"}) == []
    assert [d.field for d in identity.differences({"fps": 29.97})] == ["fps"]
    with pytest.raises(ConfigError, match="no field speed"):
        identity.differences({"speed": 3})


@pytest.mark.parametrize("value", [math.nan, math.inf, {"x": -math.inf}, [math.nan]])
def test_settings_that_are_not_finite_are_refused(robot, value):
    with pytest.raises(ConfigError, match="which a cache cannot store"):
        identify(robot, PROVENANCE, fps=30.0, body="b", settings={"a": {"w": value}})


def test_settings_that_json_does_not_know_are_refused(robot):
    with pytest.raises(ConfigError, match="is a object, which a cache cannot store"):
        identify(robot, PROVENANCE, fps=30.0, body="b", settings={"a": {"w": object()}})


@pytest.mark.parametrize("spoil", [
    lambda d: d.pop("fps"),
    lambda d: d.update(more=1),
    lambda d: d.update(joint_names=3),
    lambda d: d.update(joint_range=[1, 2]),
    lambda d: d.update(fps="fast"),
])  # fmt: skip
def test_an_identity_with_other_fields_is_refused(identity, spoil, unchecked):
    values = identity.as_dict()
    spoil(values)
    with pytest.raises(InputError, match="identity"):
        CacheIdentity.from_dict(values, "here")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False,
                                                                     allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@using(max_examples=50, deadline=None)
@given(json_values)
def test_canonical_json_is_a_fixed_point(value):
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@using(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=3), json_values, max_size=3), st.text(max_size=3))
def test_an_added_setting_always_changes_the_text(settings, key):
    more = {**settings, key + "!": 1}
    if key + "!" not in settings:
        assert canonical_json(more) != canonical_json(settings)
