"""Tidy data: every reading is a row, also absent and failed ones."""

import csv
import io
import json
import math
import os
from pathlib import Path

import pandas
import pytest

from keybench.results.atomic_file import atomic_file
from keybench.results.export import FileFormat, app
from keybench.results.export import export as command
from keybench.results.tidy import POINT, TRIAL, VALUE, series, values
from keybench.results.wording import csv_text
from tests.results.conftest import failing
from tests.runners.conftest import Run, in_this_process

FEW = ("bigint-identity", "uuid-v4")


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`keybench export … --results results.sqlite` in the folder, in this process."""
    run = in_this_process(app, dict(os.environ), tmp_path, monkeypatch, capsys)
    return lambda *arguments: run(*arguments, "--results", "results.sqlite")


def test_each_reading_is_a_row_with_every_digit(fake_run) -> None:
    store = fake_run(layouts=FEW, blocks=2)
    trials = store.trials("5ca1ab1e00")
    rows = list(csv.DictReader(io.StringIO(csv_text(list(values("5ca1ab1e00", trials))))))
    assert len(rows) == sum(len(trial.readings) for trial in trials)
    found = {(r["block"], r["database"], r["layout"], r["metric"]): r for r in rows}
    for trial in trials:
        for reading in trial.readings:
            row = found[str(trial.block), trial.database, trial.layout, reading.metric]
            assert (float(row["value"]) if row["value"] else None) == reading.value
            assert (row["origin"], row["reason"]) == (reading.origin, reading.reason)


def test_a_failed_trial_is_a_row_with_its_error(fake_run) -> None:
    store = fake_run(layouts=FEW, databases=("sqlite",), blocks=1, change=failing("uuid-v4"))
    rows = [row for row in values("x", store.trials("5ca1ab1e00")) if row["layout"] == "uuid-v4"]
    (row,) = rows
    assert (row["status"], row["error"], row["metric"], row["value"]) == ("error", "gone", None, None)


def test_series_are_points(fake_run) -> None:
    trials = fake_run(layouts=FEW, databases=("sqlite",), blocks=1).trials("5ca1ab1e00")
    rows = list(series("x", trials))
    assert len(rows) == sum(len(one.x) for trial in trials for one in trial.series)
    assert rows[-1]["x"] == 2_000_000


def test_the_command(fake_run, export: Run, tmp_path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1).close()
    printed = export("latest")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("run,block,position,database,server,layout,column,")
    done = export("5ca1", "--form", "json", "-o", "run.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (tmp_path / "run.json").read_text(encoding="utf-8")
    rows = json.loads(text)
    assert [json.loads(line.removesuffix(",")) for line in text.splitlines()[1:-1]] == rows, "a line a row"
    assert len(rows) == len(printed.stdout.splitlines()) - 1
    assert export("feed").returncode == 2
    refused = export("latest", "-o", "nowhere/run.csv")
    assert refused.returncode == 2
    assert refused.stderr == (
        "keybench: nowhere/run.csv cannot be written (No such file or directory): give -o another file.\n"
    )


def test_parquet_and_csv_hold_the_same(fake_run, tmp_path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=2).close()
    for along in (False, True):
        for form in (FileFormat.PARQUET, FileFormat.CSV):
            command(["latest"], tmp_path / f"run.{form}", form, along, str(tmp_path / "results.sqlite"))
        table = pandas.read_parquet(tmp_path / "run.parquet")
        text = pandas.read_csv(tmp_path / "run.csv", keep_default_na=False)
        assert list(table.columns) == list(text.columns)
        for name in table.columns:
            if name == "started":
                assert [moment.isoformat() for moment in table[name]] == text[name].tolist()
            elif name == "value":
                assert ["" if math.isnan(v) else v for v in table[name]] == [v and float(v) for v in text[name]]
            else:
                assert table[name].tolist() == text[name].tolist(), name


def test_parquet_needs_a_file(fake_run, export: Run, tmp_path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1).close()
    refused = export("latest", "--format", "parquet")
    assert refused.returncode == 2
    assert refused.stderr == "keybench: Parquet is a binary format: name a file with -o.\n"


def test_an_interrupted_write_leaves_the_earlier_file(tmp_path) -> None:
    there = tmp_path / "run.csv"
    there.write_text("earlier", encoding="utf-8")

    def interrupted() -> None:
        with atomic_file(there) as part:
            part.write_text("half", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["run.csv"]
    assert there.read_text(encoding="utf-8") == "earlier"


def test_every_column_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    for name, meaning in (TRIAL | VALUE | POINT).items():
        assert f"| `{name}` | {meaning} |" in text, name
