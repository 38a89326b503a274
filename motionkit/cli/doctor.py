"""``motionkit doctor``: what is installed, what is missing, and the command that brings it."""

import os
import re
import shlex
import sys
from dataclasses import asdict, dataclass

import click

from motionkit.cli.console import CLEAN, FINDINGS, paint, show, show_json

_GL_SECONDS = 30.0  # for a first picture; software rendering takes about one
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PURPOSE = {
    "": "everything",
    "view": "pictures of a clip (--picture)",
}
"""What the packages of an extra are for; of the requirements under no extra."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that motionkit can use."""

    name: str
    """What."""
    found: str | None
    """Its version, or what was found; absent if it is missing."""
    needed_for: str
    """What does not work without it."""
    is_required: bool
    """Whether motionkit cannot do its work without it."""
    help: str
    """The command that brings it."""


@click.command(name="doctor", epilog="Example: motionkit doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(as_json: bool) -> int:
    """Say what is missing and the command that brings it."""
    from motionkit.cli.pool import num_cores

    checks = [*check_packages(), check_rendering()]
    missing = [check for check in checks if check.found is None]
    if as_json:
        show_json("doctor", {"python": sys.version.split()[0], "cores": num_cores(),
                             "checks": [asdict(check) for check in checks]})  # fmt: skip
    else:
        show(f"python {sys.version.split()[0]}, {num_cores()} cores")
        for check in checks:
            _show_check(check)
        if not missing:
            show("nothing is missing")
    return FINDINGS if any(check.is_required for check in missing) else CLEAN


def _show_check(check: Check) -> None:
    if check.found is not None:
        show(f"  {paint('ok', 'green', sys.stdout)}       {check.name:<20} {check.found}")
        return
    colour = "red" if check.is_required else "yellow"
    show(f"  {paint('missing', colour, sys.stdout)}  {check.name:<20} for {check.needed_for}")
    show(f"           help: {check.help}")


def check_packages() -> list[Check]:
    """The packages that a command uses, as motionkit's own metadata names them, required first.

    Extras that no command needs are left out: ``dev`` and ``smpl`` are for working on motionkit,
    the others for what is to come.
    """
    from importlib import metadata

    checks = []
    for requirement in metadata.requires("motionkit") or []:
        wanted, _, marker = requirement.partition(";")
        extra = _EXTRA.search(marker)
        purpose = _PURPOSE.get(extra.group(1) if extra else "")
        if purpose is not None:
            checks.append(_check(wanted.strip(), purpose, is_required=extra is None))
    return sorted(checks, key=lambda check: (not check.is_required, check.name))


def _check(requirement: str, purpose: str, *, is_required: bool) -> Check:
    named = _NAME.match(requirement)
    assert named is not None
    return Check(
        name=named.group(),
        found=_version(named.group()),
        needed_for=purpose,
        is_required=is_required,
        help=f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(requirement)}",
    )


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


_DRAW = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
renderer = mujoco.Renderer(model, 8, 8)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer.update_scene(data)
assert renderer.render().shape == (8, 8, 3)
"""


def check_rendering() -> Check:
    """Whether MuJoCo can draw without a screen, tried in a process of its own.

    A driver that is missing or broken may end the process that asks, so this one does not ask.
    """
    import subprocess

    chosen = os.environ.get("MUJOCO_GL")
    found = None
    for backend in [chosen] if chosen else ["egl", "osmesa"]:
        environment = {**os.environ, "MUJOCO_GL": backend}
        try:
            drawn = subprocess.run([sys.executable, "-c", _DRAW], env=environment,
                                   capture_output=True, timeout=_GL_SECONDS)  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
        if drawn.returncode == 0:
            found = f"MUJOCO_GL={backend}"
            break
    return Check(
        name="offscreen rendering",
        found=found,
        needed_for="pictures with the robot's own shapes",
        is_required=False,
        help="apt-get install libegl1 libgl1-mesa-dri, or libosmesa6 and set MUJOCO_GL=osmesa",
    )
