"""Who may import whom, read from the sources; and what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "motionkit"

_BASE = {"errors", "rotation"}
_CLIP = _BASE | {"clip"}
_ROBOT = _CLIP | {"kinematics", "mjcf", "profile", "tpose", "assets", "robot"}
_CACHE = _ROBOT | {"cache", "files"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "rotation": {"errors"},
    "files": {"errors"},
    "assets": {"errors"},
    "kinematics": _BASE,
    "band": set(),
    "mjcf": _BASE | {"kinematics"},
    "clip": _BASE,
    "profile": {"errors", "clip"},
    "tpose": {"errors", "kinematics", "profile"},
    "robot": _ROBOT,
    "formats": _CLIP | {"files"},
    "human": _ROBOT | {"band"},
    "binding": _ROBOT,
    "synth": _ROBOT | {"human", "formats"},
    "retarget": _ROBOT | {"band"},
    "cache": _ROBOT | {"files"},
    "audit": _CACHE,
    "train": _CACHE,
    "view": _CACHE,
}
"""Each unit (a module or a folder of the package) and the units that it may import. ``cli``, which
is not here, may import all of them, inside functions."""

HOMES: dict[str, tuple[str, ...]] = {
    "jax": ("retarget/",),
    "jaxlie": ("retarget/",),
    "jaxls": ("retarget/",),
    "pyroki": ("retarget/",),
    "torch": ("human/smplh.py", "train/"),
    "smplx": ("human/smplh.py",),
    "ezc3d": (),  # it misreads and crashes on some files: tests compare with it
    "click": ("cli/",),
    "rich": ("cli/",),
    "matplotlib": ("view/",),
    "PIL": ("view/",),
    "trimesh": ("terrain/",),
    "ray": ("cli/",),
}
"""Libraries that only some places may import."""

HEAVY = {*HOMES, "mujoco", "scipy", "safetensors"} - {"click"}
"""Libraries that are never imported when a module is: only inside functions."""

EXCEPT = {"band.py": {"scipy"}}
"""Where a module is itself imported only by the solve that needs the library at once."""

MODULES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))


def imports(module: str) -> list[tuple[str, bool]]:
    """Dotted names that a module imports, and whether at import time."""
    tree = ast.parse((PACKAGE / module).read_text())
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, at_import: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            at_import = False
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, at_import) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:  # inside its own folder only
                assert node.level == 1 and "/" in module, f"{module} imports from above by dots"
                base = f"motionkit.{unit_of(module)}.{base}".rstrip(".")
            found.extend(
                (f"{base}.{alias.name}" if base == "motionkit" else base, at_import)
                for alias in node.names
            )
        for child in ast.iter_child_nodes(node):
            visit(child, at_import)

    visit(tree, True)
    return found


def unit(dotted: str) -> str:
    """``motionkit.formats.bvh`` → ``formats``."""
    return dotted.split(".")[1] if "." in dotted else ""


def unit_of(module: str) -> str:
    """``formats/bvh.py`` → ``formats``."""
    return module.split("/")[0].removesuffix(".py")


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    own = unit_of(module)
    if own in ("cli", "__init__", "__main__"):
        return
    assert own in MAY_IMPORT, f"{own} is in no layer: add it to MAY_IMPORT and docs/architecture.md"
    used = {unit(name) for name, _ in imports(module) if name.split(".")[0] == "motionkit"}
    used -= {own, "__version__", ""}
    assert used <= MAY_IMPORT[own], f"{module} imports {sorted(used - MAY_IMPORT[own])}"


def test_the_layers_are_those_of_the_document():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    there = {unit_of(module) for module in MODULES} - {"__init__", "__main__"}
    assert there == {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}


def test_the_layers_have_no_circle():
    order: list[str] = []
    while len(order) < len(MAY_IMPORT):
        ready = [u for u in MAY_IMPORT if u not in order and MAY_IMPORT[u] - {u} <= set(order)]
        assert ready, f"circle among {sorted(set(MAY_IMPORT) - set(order))}"
        order.extend(ready)


@pytest.mark.parametrize("module", MODULES)
def test_libraries_stay_in_their_homes_and_wait_until_they_are_needed(module):
    for name, at_import in imports(module):
        library = name.split(".")[0]
        homes = HOMES.get(library)
        assert homes is None or module.startswith(homes), f"{module} imports {library}"
        if library in EXCEPT.get(module, ()):
            continue
        assert not (at_import and library in HEAVY), f"{module} imports {library} at once"


def test_the_command_line_imports_stages_inside_functions():
    for module in MODULES:
        if unit_of(module) != "cli":
            continue
        at_once = {unit(name) for name, now in imports(module) if now and name[:9] == "motionkit"}
        assert at_once <= {"cli", "errors"}, f"{module} imports {sorted(at_once)} at once"


def test_nothing_imports_the_command_line():
    for module in MODULES:
        if unit_of(module) not in ("cli", "__main__"):
            assert "cli" not in {unit(name) for name, _ in imports(module)}, module


def test_importing_motionkit_or_asking_for_help_pulls_no_library():
    code = (
        "import sys, {name}\n"
        "print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    )  # fmt: skip
    for name, allowed in (("motionkit", set()), ("motionkit.cli.console", set())):
        done = subprocess.run([sys.executable, "-c", code.format(name=name)], text=True,
                              capture_output=True, check=True)  # fmt: skip
        loaded = set(done.stdout.split()) & (HEAVY | {"numpy"})
        assert loaded <= allowed, f"import {name} pulls {sorted(loaded)}"


def test_files_and_functions_stay_small():
    for module in MODULES:
        text = (PACKAGE / module).read_text()
        assert text.count("\n") <= 400, f"{module} has {text.count(chr(10))} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1 - doc_lines(node)
                assert lines <= 60, f"{module}: {node.name} has {lines} lines"


def doc_lines(node: ast.FunctionDef) -> int:
    """Lines of the docstring."""
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return (first.end_lineno or first.lineno) - first.lineno + 1
    return 0


def test_no_module_is_called_after_nothing():
    names = {Path(module).stem for module in MODULES}
    assert not names & {"utils", "common", "misc", "helpers"}
