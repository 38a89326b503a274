"""What inspect says about a clip is true of the figure that was written."""

import json

import numpy as np
import pytest
from builders_bvh import STATURE, Dialect, walking_figure, write_bvh

from motionkit.formats import describe, read_clip


@pytest.mark.parametrize("seed", range(4))
def test_a_description_states_the_facts_of_the_figure(tmp_path, seed):
    rng = np.random.default_rng(seed)
    figure = walking_figure(rng, 20)
    path = tmp_path / "walk.bvh"
    path.write_bytes(write_bvh(figure, Dialect(family="Mixamo", up="z", metres=0.001), rng))
    facts = describe(read_clip(path))
    assert (facts.name, facts.format, facts.writer) == ("walk", "bvh", "Mixamo")
    assert (facts.frames, facts.fps, facts.model) == (20, 30.0, None)
    assert facts.duration == pytest.approx(19 / 30)
    assert (facts.unit_scale, facts.unit_source) == (0.001, "stature")
    assert (facts.up, facts.up_source) == ("z", "motion")
    assert facts.stature == pytest.approx(STATURE, abs=0.01)
    assert facts.travel == pytest.approx(0.05 * 19, abs=1e-6)
    assert facts.lowest == pytest.approx(np.percentile(figure.pos[..., 2].min(axis=1), 2), abs=1e-6)
    assert facts.facing_from_travel == pytest.approx(0.0, abs=0.35)
    step = figure.pos[-1, 0] - figure.pos[0, 0]
    turn = facts.facing_median - np.arctan2(step[1], step[0])
    assert abs((turn + np.pi) % (2 * np.pi) - np.pi) < 0.35
    assert facts.roles_missing == ()
    again = json.loads(json.dumps(facts.to_dict()))
    assert again["roles"]["left_hip"] == "mixamorig:LeftUpLeg"
    assert again["notes"][0]["code"].startswith("MK1")


def test_a_body_that_stays_has_no_direction_of_travel(tmp_path):
    rng = np.random.default_rng(0)
    figure = walking_figure(rng, 5)
    figure.pos[:, :, :2] -= figure.pos[:, :1, :2]
    path = tmp_path / "stand.bvh"
    path.write_bytes(write_bvh(figure, Dialect(), rng))
    assert describe(read_clip(path)).facing_from_travel is None


def test_roles_that_nobody_plays_are_listed(tmp_path):
    rng = np.random.default_rng(0)
    data = write_bvh(walking_figure(rng, 2), Dialect(), rng)
    path = tmp_path / "few.bvh"
    path.write_bytes(data.replace(b"LeftShoulder", b"xyz"))
    assert describe(read_clip(path)).roles_missing == ("left_collar",)


def test_every_key_of_a_description_is_documented():
    from dataclasses import fields
    from pathlib import Path

    from motionkit.formats import BodyDescription, PointsDescription, RobotDescription
    from motionkit.formats.describe_points import AnalogFacts, Gap, PlateFacts
    from motionkit.formats.describe_robot import Peak

    page = (Path(__file__).resolve().parents[1] / "docs" / "formats.md").read_text("utf-8")
    for record in (BodyDescription, PointsDescription, RobotDescription, AnalogFacts, Gap,
                   PlateFacts, Peak):  # fmt: skip
        for field in fields(record):
            assert f"`{field.name}`" in page, f"{record.__name__}.{field.name}"
