"""Damaged results files: what is said of them, and what can still be read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer import Typer

from keybench import cli
from keybench.errors import UsageError
from keybench.results.export import app as export_app
from keybench.results.store.blobs import Blob
from keybench.results.store.database import Store
from keybench.runners.command import app as run_app
from tests.errors import raised
from tests.results.conftest import sql
from tests.results.store.test_store import a_run, a_trial

BAD, GOOD = "0a1b2c3d4e", "5ca1ab77de"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A results file with two runs, of which a test damages the first."""
    path = str(tmp_path / "results.sqlite")
    with Store.open(path, write=True) as store:
        for run_id in (BAD, GOOD):
            store.add_run(a_run(run_id))
            store.record(run_id, replace(a_trial(), blobs=(Blob.pack("pages", {}, {}),)))
            store.warn(run_id, "a warning")
    return path


def everything(file: str, run_id: str) -> None:
    with Store.open(file, write=False) as store:
        store.run(run_id)
        store.environments(run_id)
        store.trials(run_id, blobs=True)
        store.warnings(run_id)


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("run.definition", "{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("run.definition", "[" * 100_000, "its values are nested too deeply"),
        ("run.machine", "[]", "its machine is []"),
        ("run.blocks", 0, "its blocks is 0"),
        ("run.seed", "many", "invalid literal for int() with base 10: 'many'"),
        ("run.command", b"\xff", "its command is b'\\xff'"),
        ("run.started", "yesterday", "Invalid isoformat string: 'yesterday'"),
        ("trial.rows", 0, "its rows is 0"),
        ("trial.rows", "x", "its rows is 'x'"),
        ("trial.seconds", 9e999, "its seconds is inf"),
        ("trial.status", "fine", "its status is 'fine'"),
        ("value.value", "much", "its insert_seconds is 'much', 'measured'"),
        ("value.origin", "guessed", "its insert_seconds is 0."),
        ("series.x", b"abc", "Error -3 while decompressing data: incorrect header"),
        ("series.y", 5, "a bytes-like object is required, not 'int'"),
        ("blob.content", b"abc", "Error -3 while decompressing data: incor"),
    ],
)
def test_a_damaged_value_is_named_and_other_runs_are_read(file: str, column: str, value: object, why: str) -> None:
    table, _, name = column.partition(".")
    sql(file, f"UPDATE {table} SET {name} = ? WHERE rowid = (SELECT min(rowid) FROM {table})", value)
    message = raised(UsageError, everything, file, BAD)
    assert message.startswith(f"{file} is damaged: run {BAD} cannot be read ({why}")
    assert message.endswith("). It was left as it is: take it from a copy, or give --results another file.")
    everything(file, GOOD)


def test_text_that_is_none_is_damage(file: str) -> None:
    sql(file, "UPDATE trial SET error = CAST(x'ff' AS TEXT) WHERE run = ?", BAD)
    message = raised(UsageError, everything, file, BAD)
    assert message.startswith(f"{file} is damaged: a part of it cannot be read (Could not decode to UTF-8 column 'err")
    everything(file, GOOD)


def test_a_missing_table_is_damage(file: str) -> None:
    sql(file, "DROP TABLE series")
    damage = f"{file} is damaged: a part of it cannot be read (no such table: main.series)."
    assert damage in raised(UsageError, everything, file, BAD)


def circle(file: str) -> None:
    """Makes the tree of a table with several leaves lead back to its own root."""
    with Store.open(file, write=True) as store:
        for position in range(1, 200):
            store.record(GOOD, a_trial(position=position))
    ((size,),) = sql(file, "PRAGMA page_size")
    ((root,),) = sql(file, "SELECT rootpage FROM sqlite_master WHERE name = 'value'")
    with Path(file).open("r+b") as raw:
        raw.seek((root - 1) * size)
        page = bytearray(raw.read(size))
        assert page[0] in {2, 5}, "the table has only one page"
        first = int.from_bytes(page[12:14], "big")
        page[first : first + 4] = root.to_bytes(4, "big")
        raw.seek((root - 1) * size)
        raw.write(page)


def refused(app: Typer, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that ends as the user's mistake."""
    with pytest.raises(SystemExit) as end:
        cli.run(app, arguments)
    assert end.value.code == 2
    return capsys.readouterr().err


@pytest.mark.timeout(60)
@pytest.mark.parametrize("arguments", [(run_app, "--resume", "latest"), (export_app, "latest")], ids=["run", "export"])
def test_pages_that_lead_in_a_circle_are_no_endless_loop(file: str, arguments: tuple, capsys) -> None:
    circle(file)
    before = Path(file).read_bytes()
    message = refused(arguments[0], capsys, *arguments[1:], "--results", file)
    assert message.startswith(f"keybench: {file} is damaged: a part of it cannot be read (")
    assert "Traceback" not in message
    assert Path(file).read_bytes() == before


def test_what_a_damaged_run_was_to_measure(file: str, capsys) -> None:
    sql(file, "UPDATE run SET definition = ? WHERE id = ?", json.dumps({"scenario": {"rows": "x"}}), GOOD)
    message = refused(run_app, capsys, "--resume", GOOD, "--results", file)
    assert message.startswith("keybench: what the run was to measure is damaged in the results (")
    assert message.endswith("): measure again, with a new run.\n")
