"""Every command that prints a table prints JSON too: the walk over all commands finds one that does not."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
import typer

from keybench.cli import COMMANDS
from keybench.errors import KeybenchError
from keybench.results.bundle.writing import COLUMNS

TABLES: Mapping[str, tuple[str, ...]] = {
    "list scenarios": (),
    "list layouts": ("--on", "mssql"),
    "list layouts NAME": ("rt-comb-sql",),
    "list decode": ("d01c25cc-63a7-47cc-b5ba-018e5f3bff48",),
    "list databases": (),
    "doctor": (),
    "export": ("latest",),
    "compare": ("latest",),
    "check": ("latest", "--baseline", "baseline.json"),
    "advise": ("--db", "sqlite", "--rows", "20000"),
    "inspect": ("shop.sqlite",),
}
"""Commands that print a table, with arguments."""

COMPILING = {"advise"}

NO_TABLE = {
    "run": "prints its progress; `export --json` has its values",
    "verify": "prints its progress; its runs are in the results database",
    "report": "prints the path of the page",
    "site": "prints the path of the page, or a line for each bundle that fits",
    "clean": "prints what it removes",
    "list make": "prints keys, one a line",
    "list sql": "prints SQL",
}

DOCUMENTS = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def documented(name: str) -> set[str]:
    """The fields of a command's JSON in the table of docs/data.md: names in backquotes outside of brackets."""
    if name == "export":
        return set(COLUMNS)
    (fields,) = re.findall(rf"^\| `{name}` \| [^|]* \| ([^|]*) \|$", DOCUMENTS, re.M)
    return set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", fields).partition(":")[0]))


def leaves() -> Iterator[tuple[str, Any]]:
    """Every command by its words."""
    for name, command in COMMANDS.items():
        known = typer.main.get_command(importlib.import_module(command.module).app)
        if inner := getattr(known, "commands", None):
            yield from ((f"{name} {word}", one) for word, one in inner.items())
        else:
            yield name, known


def test_every_command_that_prints_a_table_has_json() -> None:
    found = dict(leaves())
    assert {*found, "list layouts NAME"} == {*TABLES, *NO_TABLE}, "a new command: does it print a table?"
    having = {name for name, one in found.items() if any("--json" in parameter.opts for parameter in one.params)}
    assert {*having, "list layouts NAME"} == set(TABLES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in COMPILING else name for name in TABLES]
)
def test_its_json_has_exactly_the_fields_of_the_documents(name, fake_run, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEYBENCH_RESULTS", "results.sqlite")
    command = dict(leaves())[name.removesuffix(" NAME")]
    if name in {"export", "compare", "check"}:
        fake_run(layouts=("bigint-identity", "uuid-v4"), databases=("sqlite",), blocks=1).close()
    if name == "inspect":
        apsw.Connection("shop.sqlite").execute("CREATE TABLE orders (id TEXT PRIMARY KEY)")
    if name == "check":
        command([*TABLES[name], "--update-baseline"], standalone_mode=False)
        capsys.readouterr()
    with suppress(KeybenchError):  # `doctor` says on standard error that something is missing
        command([*TABLES[name], "--json"], standalone_mode=False)
    told = json.loads(capsys.readouterr().out)
    records = told if isinstance(told, list) else [told]
    assert records
    for record in records:
        assert set(record) == documented(name)


def test_the_json_of_claims_has_exactly_the_fields_of_the_documents(capsys) -> None:
    dict(leaves())["compare"](["--claims", "--json"], standalone_mode=False)
    for record in json.loads(capsys.readouterr().out):
        assert set(record) == documented("compare --claims")
