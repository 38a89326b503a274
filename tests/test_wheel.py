"""The wheel that users get: built, put into a clean environment, used there."""

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


def run(*command: object, **kwargs) -> subprocess.CompletedProcess[str]:
    """Run to the end; its output is in the failure."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, env=environment, **kwargs)  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy of the sources, so that nothing is left in the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "motionkit", copy / "motionkit", ignore=ignore)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, copy)
    (made,) = folder.glob("motionkit-*.whl")
    return made


@pytest.fixture(scope="module")
def clean(wheel, tmp_path_factory) -> Path:
    """An environment with the wheel; its other packages are those of the tests, without motionkit.

    A ``.pth`` file lends the packages, so nothing is downloaded. It is read after the wheel's own
    folder, and the editable motionkit of the tests is kept out: ``.pth`` files inside a lent
    folder are not followed.
    """
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    target = run(python, "-c", "import site; print(site.getsitepackages()[0])").stdout.strip()
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install",
        "--no-deps", "--no-index", wheel)  # fmt: skip
    (Path(target) / "lent.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    package = {name for name in names if name.startswith("motionkit/")}
    rest = set(names) - package
    assert all(name.split("/")[0].endswith(".dist-info") for name in rest), sorted(rest)
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "motionkit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert package == sources
    assert {name for name in package if not name.endswith(".py")} >= {
        "motionkit/assets/anatomic_soma/anatomic_soma.xml",
        "motionkit/assets/anatomic_soma/robot.toml",
    }
    assert any(name.endswith("LICENSE") for name in rest)


def test_the_wheel_says_what_it_needs_and_its_core_needs_no_torch(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("/METADATA"))
        lines = archive.read(name).decode().splitlines()
        (name,) = (n for n in archive.namelist() if n.endswith("/entry_points.txt"))
        scripts = archive.read(name).decode()
    needs = [line.removeprefix("Requires-Dist: ") for line in lines if "Requires-Dist: " in line]
    core = [need for need in needs if "extra ==" not in need]
    assert core and not any("torch" in need or "smplx" in need for need in core)
    extras = {line.split(": ")[1] for line in lines if line.startswith("Provides-Extra")}
    assert extras == {"smpl", "train", "view", "myo", "ray", "dev"}
    assert "License-Expression: Apache-2.0" in lines and "Requires-Python: >=3.11" in lines
    assert "motionkit = motionkit.cli:main" in scripts


def test_the_installed_package_is_the_wheels_own(clean):
    code = "import motionkit; print(motionkit.__file__)"
    where = run(clean / "bin" / "python", "-c", code, cwd=clean).stdout.strip()
    assert Path(where).is_relative_to(clean)


def test_the_installed_command_works_away_from_the_sources(clean, tmp_path):
    import motionkit

    command = clean / "bin" / "motionkit"
    assert run(command, "--version", cwd=tmp_path).stdout == f"motionkit {motionkit.__version__}\n"
    assert "anatomic_soma" in run(command, "robots", "list", cwd=tmp_path).stdout
    assert "retarget" in run(command, "--help", cwd=tmp_path).stdout
    run(command, "robots", "show", "anatomic_soma", cwd=tmp_path)
