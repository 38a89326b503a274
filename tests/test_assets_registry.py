import tomllib

import pytest

from motionkit.assets import robot_files, robot_names
from motionkit.errors import AssetError


def test_robot_names_are_sorted_and_hold_the_default_robot():
    names = robot_names()
    assert list(names) == sorted(set(names))
    assert "anatomic_soma" in names


def test_every_bundled_robot_compiles_and_its_profile_carries_its_name():
    mujoco = pytest.importorskip("mujoco")
    for name in robot_names():
        mjcf, profile = robot_files(name)
        assert mujoco.MjModel.from_xml_string(mjcf).nv > 6
        parsed = tomllib.loads(profile)
        assert parsed["name"] == name
        assert parsed["schema"] == 1


@pytest.mark.parametrize(
    ("wrong", "start"),
    [
        ("anatomical-soma", "did you mean anatomic_soma? "),
        ("Anatomic_SOMA", "did you mean anatomic_soma? "),
        ("zzz", ""),
        ("", ""),
        ("../assets", ""),
    ],
)
def test_an_unknown_robot_is_refused_with_the_names_and_the_nearest(wrong, start):
    with pytest.raises(AssetError) as caught:
        robot_files(wrong)
    assert str(caught.value) == f"no bundled robot named {wrong!r}"
    assert caught.value.help == (
        f"{start}the bundled robots are: {', '.join(robot_names())}; "
        "for your own, give the path of its MJCF"
    )
