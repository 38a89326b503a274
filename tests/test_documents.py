"""Every flag, finding, cache key and setting is documented, and every document says what is so."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SOURCES = sorted((ROOT / "motionkit").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]


def read(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Path, command and context of every command, groups among them."""
    from motionkit.cli.console import root

    def walk(command: click.Command, ctx: click.Context, path: str):
        yield path, command, ctx
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                inner = command.get_command(ctx, name)
                assert inner is not None
                inner_ctx = click.Context(inner, info_name=name, parent=ctx)
                yield from walk(inner, inner_ctx, f"{path} {name}")

    yield from walk(root, click.Context(root, info_name="motionkit"), "motionkit")


def flags(command: click.Command, ctx: click.Context) -> set[str]:
    """All spellings of a command's options."""
    options = [p for p in command.get_params(ctx) if isinstance(p, click.Option)]
    return {flag for o in options for flag in (*o.opts, *o.secondary_opts)} - {"-h", "--help"}


def test_the_command_reference_is_the_one_that_the_commands_write():
    from motionkit.cli.reference import command_reference

    assert read("cli.md") == command_reference(), (
        "write it again: python -m motionkit.cli.reference > docs/cli.md"
    )


def test_every_flag_is_documented_below_its_command():
    sections = dict(
        re.findall(r"^## (motionkit.*?)\n(.*?)(?=^## |\Z)", read("cli.md"), re.M | re.S)
    )
    for path, command, ctx in commands():
        if path == "motionkit":
            continue
        for flag in flags(command, ctx):
            assert f"`{flag}`" in sections[path], f"{flag} of {path} is not in docs/cli.md"


def test_every_command_has_an_example_and_a_first_sentence():
    for path, command, _ in commands():
        assert (command.help or "").strip(), f"{path} says nothing"
        if not isinstance(command, click.Group):
            assert (command.epilog or "").startswith("Example: motionkit"), f"{path}: no example"


def codes_in(text: str) -> set[str]:
    return set(re.findall(r"\bMK\d{3}\b", text))


def test_every_finding_code_is_in_the_audits_table_and_in_the_documents():
    from motionkit.audit.checks import CHECKS

    used = {code for path in SOURCES for code in codes_in(path.read_text("utf-8"))}
    assert used and used <= set(CHECKS), f"not in the table: {sorted(used - set(CHECKS))}"
    documented = codes_in(read("findings.md"))
    assert set(CHECKS) <= documented, f"not documented: {sorted(set(CHECKS) - documented)}"
    assert documented <= set(CHECKS), f"documented, unknown: {sorted(documented - set(CHECKS))}"


def test_no_document_speaks_of_a_code_that_does_not_exist():
    from motionkit.audit.checks import CHECKS

    for page in PAGES:
        assert codes_in(page.read_text("utf-8")) <= set(CHECKS), page.name


def test_every_field_of_a_cache_identity_and_every_stored_array_is_documented():
    from motionkit.cache import ARRAYS, SCHEMA, CacheIdentity

    text = read("cache.md")
    for name in [*(f.name for f in fields(CacheIdentity)), *ARRAYS]:
        assert f"`{name}`" in text, f"{name} is not in docs/cache.md"
    assert re.search(rf"(?i)schema\s+`?{SCHEMA}\b", text), (
        f"schema {SCHEMA} is not in docs/cache.md"
    )


def configurations() -> list[type]:
    """Every dataclass of settings in the package."""
    import importlib

    found = {}
    for path in SOURCES:
        for name in re.findall(r"^class (\w+Config)\b", path.read_text("utf-8"), re.M):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name] = getattr(importlib.import_module(module), name)
    return list(found.values())


def test_every_setting_says_what_it_is_and_is_documented():
    pages = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    made = configurations()
    assert len(made) >= 4
    for config in made:
        for field in fields(config):
            assert field.metadata.get("help"), f"{config.__name__}.{field.name} has no help"
            flag = f"--{field.name.replace('_', '-')}"
            assert f"`{flag}`" in pages or f"`{field.name}`" in pages, (
                f"{config.__name__}.{field.name} is in no document"
            )


def command_lines(text: str) -> list[str]:
    """Lines of code blocks that call motionkit."""
    blocks = re.findall(r"^```(?:\w*)\n(.*?)^```", text, re.M | re.S)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if re.match(r"(\.venv/bin/)?motionkit ", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_that_a_page_shows_exist_with_their_flags(page):
    known = {path: flags(command, ctx) for path, command, ctx in commands()}
    for line in command_lines(page.read_text("utf-8")):
        words = line.removeprefix(".venv/bin/").split("#")[0].split()
        path = max((p for p in known if words[: len(p.split())] == p.split()), key=len)
        if path == "motionkit":
            assert set(words[1:]) <= {"--help", "--version", "VERB"}, line
            continue
        for word in words[len(path.split()) :]:
            if word.startswith("--"):
                assert word.split("=")[0] in known[path] | {"--help"}, f"{page.name}: {line}"


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    from motionkit.synth import SynthConfig, synthesize, write_bvh

    monkeypatch.chdir(tmp_path)
    write_bvh(synthesize(SynthConfig(kind="walk", seconds=1.0)).skeleton, Path("walk.bvh"))
    (code,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S
    )
    exec(compile(code, "README.md", "exec"), {})
    assert re.fullmatch(r"Outcome.CONVERGED \(\d+, 59\)\n", capsys.readouterr().out)


def test_the_whole_way_in_python_runs(tmp_path, monkeypatch, capsys):
    from motionkit.cache import read_reference
    from motionkit.synth import SynthConfig, synthesize, write_bvh

    monkeypatch.chdir(tmp_path)
    write_bvh(synthesize(SynthConfig(kind="walk", seconds=1.0)).skeleton, Path("walk.bvh"))
    code = re.findall(r"^```python\n(.*?)^```", read("python.md"), re.M | re.S)[0]
    exec(compile(code, "python.md", "exec"), {})
    said = capsys.readouterr().out
    assert said.endswith("0 errors, 31 frames\n") and "MK205" not in said
    assert read_reference(Path("cache/walk.safetensors"), verify=True).num_frames == 31


def test_the_code_of_the_python_page_fits_markers(tmp_path, monkeypatch, capsys):
    from builders_markers import set_on_person

    from motionkit.formats import read_clip
    from motionkit.formats.write_c3d import write_c3d
    from motionkit.synth import SynthConfig, synthesize

    monkeypatch.chdir(tmp_path)
    person = synthesize(SynthConfig(kind="walk", seconds=1.0)).clip
    write_c3d("walk.c3d", set_on_person(person, "plug_in_gait"))
    code = re.findall(r"^```python\n(.*?)^```", read("python.md"), re.M | re.S)[1]
    exec(compile(code, "python.md", "exec"), {})
    name, residual, *_ = capsys.readouterr().out.split()
    assert name == "plug_in_gait" and float(residual) < 5.0
    assert read_clip("walk.npz").num_frames == person.num_frames


def test_the_make_targets_that_the_readme_shows_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text("utf-8"), re.M))
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.M), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_of_a_page_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not re.match(r"https?:", target):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_changelog_speaks_of_this_version():
    import motionkit

    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## {re.escape(motionkit.__version__)}\b", text, re.M)


def test_every_package_that_the_commands_install_is_pinned():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["view"], *extras["dev"]]
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), re.M))
    normal = {re.sub(r"[-_.]+", "-", name).lower() for name in pinned}
    for requirement in wanted:
        match = re.match(r"[\w.-]+", requirement)
        assert match is not None
        name = re.sub(r"[-_.]+", "-", match.group()).lower()
        assert name == "motionkit" or name in normal, f"{name} has no pin in constraints.txt"


def test_every_kind_of_line_and_of_document_is_documented():
    page = read("audit.md")
    text = "".join(path.read_text("utf-8") for path in SOURCES)
    kinds = set(re.findall(r"""show_json\(\s*"([\w-]+)\"""", text))
    kinds |= set(re.findall(r""""schema": \w+,\s+"kind": "([\w-]+)\"""", text))
    assert {"retarget", "explain", "finding", "ended", "traceback"} <= kinds
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in page] == []
