"""What the documents say is so, and what they cite exists."""

import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

from keybench.cli import COMMANDS
from keybench.databases.contract.settings import Profile
from keybench.databases.mysql.flavour import MARIADB, MYSQL
from keybench.databases.postgresql import ddl
from keybench.databases.postgresql.engine import ENGINE as POSTGRESQL
from keybench.databases.registry import engines
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layouts
from keybench.generators.core.process import Process
from keybench.model.byteorder import rank
from keybench.model.table import Table
from keybench.runners.launch import timetable
from keybench.scenarios.files import parse_scenario, scenario_names

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/internals/*.md")])


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)


def test_the_layout_of_the_documents_works() -> None:
    code = blocks(ROOT / "docs" / "start.md", "python")[-1]
    module: dict[str, object] = {"__name__": "mine"}
    sys.modules["mine"] = type(sys)("mine")  # dataclasses look their module up
    exec(compile(code, "start.md", "exec"), module)
    del sys.modules["mine"]
    (layout,) = module["LAYOUTS"]  # type: ignore[misc]
    clock = VirtualClock(UNIX_EPOCH + np.arange(100) * TICKS_PER_MS)
    keys = layout.stream(Process.current(), clock, AesEntropy.seeded(1)).take(100)
    assert np.array_equal(rank(keys, layout.order), np.arange(100))


def test_the_page_model_of_the_documents_works(capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = blocks(ROOT / "docs" / "start.md", "python")
    clock = VirtualClock(UNIX_EPOCH + np.arange(641) * TICKS_PER_MS)
    keys = layouts()["jhtodd-end"].stream(Process.current(), clock, AesEntropy.seeded(1)).take(641)
    exec(compile(code, "start.md", "exec"), {"keys": keys})
    assert capsys.readouterr().out == "11\n"  # 64 rows a page


def test_the_programs_of_the_documents_run() -> None:
    programs = blocks(ROOT / "docs" / "layouts.md", "python")
    assert len(programs) == 3
    found: dict[str, object] = {}
    for code in programs:
        exec(compile(code, "layouts.md", "exec"), found)
    assert isinstance(found["made"], datetime)
    assert np.asarray(found["rows"]).shape == (1_000, 16)
    assert np.asarray(found["times"]).shape == (1_000,)


def test_the_scenarios_of_the_documents_are_valid_and_drawn_as_shown() -> None:
    first, past, _, varying, second = blocks(ROOT / "docs" / "scenarios.md", "toml")
    assert parse_scenario("mine", first, where="docs").rows == 1_000_000
    head = first.partition("[table]")[0]
    assert parse_scenario("mine", head + varying, where="docs").table.payload
    assert len(parse_scenario("mine", head + past, where="docs").phase) == 8
    timed = parse_scenario("mine", second, where="docs")
    (drawing,) = blocks(ROOT / "docs" / "scenarios.md", "text")
    assert drawing.splitlines() == timetable(timed, 4_500_000)


def commands() -> list[str]:
    lines = [line for path in DOCUMENTS for block in blocks(path, "") for line in block.splitlines()]
    return sorted({line.partition("  #")[0].strip() for line in lines if line.startswith("keybench ")})


@cache
def told(*command: str) -> str:
    """What a command says of itself; asked once, for documents name few commands in many ways."""
    name, *rest = command
    done = CliRunner().invoke(import_module(COMMANDS[name].module).app, [*rest, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("line", commands())
def test_every_command_in_the_documents_exists_with_its_options(line: str) -> None:
    words = shlex.split(line)
    options = {word for word in words[2:] if word.startswith("-")}
    command = words[2:3] if words[1] == "list" else []
    text = told(words[1], *command)
    for option in options:
        assert option in text


def test_every_make_target_in_the_documents_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", text, re.M))
    assert named
    for target in {first or second for first, second in named}:
        assert re.search(rf"^{target}:", makefile, re.M), f"make {target}"


def test_every_link_leads_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links {target}"


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    assert len(text.split()) <= 900


def test_every_database_is_in_the_documents_and_the_way_to_all_layouts() -> None:
    text = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert "`keybench list layouts`" in text
    assert re.search(r"Some ninety \*\*layouts\*\*", text)
    assert 85 <= len({layout.name for layout in layouts().values()}) <= 99
    for engine in engines().values():
        assert f"| {engine.title} |" in text, engine.title


def test_every_setting_that_keybench_chooses_is_in_the_documents() -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w.]+", text.partition("the database's own defaults")[2].partition("\n## ")[0]))
    for on in engines().values():
        for profile in get_args(Profile):
            assert set(on.settings(profile, "default").values) <= named, on.title
    child = Table("t", POSTGRESQL.column("uuid"), 9, "fk")
    of_tables = re.findall(r"(\w+) = (?:off|false)", " ".join(ddl.create(child)))
    assert len(of_tables) == 2
    assert {option.removesuffix("_enabled") for option in of_tables} <= named
    of_sessions = re.findall(r"SET (\w+) = ", " ".join((*MARIADB.session, *MYSQL.session)))
    assert of_sessions
    assert set(of_sessions) <= named


def test_the_scenarios_of_the_documents_exist() -> None:
    """`keybench list scenarios` lists them all, so that a new scenario is one file."""
    text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    table = text.partition("| name |")[2].partition("\n\n")[0]
    described = re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.M)
    assert len(described) >= 20
    assert set(described) <= set(scenario_names())


def test_ci_runs_exactly_the_test_command_of_the_readme() -> None:
    (commands_block,) = [block for block in blocks(ROOT / "README.md", "") if block.startswith("make run")]
    test = next(line.partition(" #")[0].strip() for line in commands_block.splitlines() if line.startswith("make test"))
    last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()[-1]
    assert last == test


def test_the_pinned_versions_name_no_place() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    for requirement in [*wanted["dependencies"], *chain(*wanted["optional-dependencies"].values())]:
        name = re.match(r"[A-Za-z0-9_.-]+", requirement)
        assert name
        if name[0] == wanted["name"]:  # extras of ours inside another
            continue
        assert name[0].lower().replace("_", "-") in pinned, requirement


FOLDERS = {path.name for path in (ROOT / "keybench").iterdir() if path.is_symlink()} | {"docs", "tests", "keybench"}


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path.name != "CHANGELOG.md"], ids=lambda path: path.name
)
def test_every_path_that_a_document_names_exists(path: Path) -> None:
    named = re.findall(r"`([a-z_]+/[a-z0-9_./-]+)`", path.read_text(encoding="utf-8"))
    for name in named:
        if name.split("/")[0] in FOLDERS and "mine" not in name:
            assert (ROOT / name).exists(), f"{path.name} names {name}"


PAGES = ("postgresql", "innodb", "sqlite", "mssql", "oracle", "arrival-order", "versions")
_CITATION = re.compile(r"internals/([\w-]+)\.md((?:(?:,| and| to)?\s+§\d+)*)")
_SECTION = re.compile(r"^## (\d+)\. ", re.MULTILINE)
_ENDINGS = {".py", ".md", ".toml", ".c", ".sql", ".ipynb"}


def sections(page: str) -> set[int]:
    text = (ROOT / "docs" / "internals" / f"{page}.md").read_text(encoding="utf-8")
    return {int(number) for number in _SECTION.findall(text)}


def cited(text: str) -> list[tuple[str, list[int]]]:
    """Pages and sections, also where a citation goes on in the next line of a comment."""
    joined = re.sub(r"\s*\n\s*(?:# )?", " ", text)
    return [(page, [int(n) for n in re.findall(r"§(\d+)", parts)]) for page, parts in _CITATION.findall(joined)]


def files() -> Iterator[Path]:
    """The tree's texts, without the links in keybench/ and without hidden folders."""
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [name for name in inside if not name.startswith((".", "__pycache__"))]
        yield from (Path(folder, name) for name in names if Path(name).suffix in _ENDINGS)


@pytest.mark.parametrize("page", PAGES)
def test_sections_of_a_page_are_numbered_from_one(page: str) -> None:
    found = sections(page)
    assert found == set(range(1, len(found) + 1))


def test_every_citation_names_a_page_and_a_section_that_exist() -> None:
    known = {page: sections(page) for page in PAGES}
    citations = [(path, page, number) for path in files() for page, numbers in cited(path.read_text(encoding="utf-8"))
                 for number in [0, *numbers]]  # fmt: skip
    assert {page for _, page, _ in citations} == set(PAGES)
    wrong = [f"{path.relative_to(ROOT)}: {page}.md §{number}" for path, page, number in citations
             if page not in known or (number and number not in known[page])]  # fmt: skip
    assert not wrong


def test_references_to_a_page_by_its_sections_agree_with_it() -> None:
    for page in PAGES:
        text = (ROOT / "docs" / "internals" / f"{page}.md").read_text(encoding="utf-8")
        own = {int(number) for number in re.findall(r"§(\d+)", text)}
        assert own <= sections(page), page
