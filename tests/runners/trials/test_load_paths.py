"""Load paths: who can take them, what is recorded of them, and what is left out of their results."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from keybench.databases.registry import engines
from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.load_path import load_path
from keybench.model.metric import Metric
from keybench.model.names import MODEL_SERVER
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.subject import KEY, SubjectKind
from keybench.results.report.page import render
from keybench.results.store.records import Run as Recorded
from keybench.results.store.records import Trial
from keybench.results.tidy import values
from keybench.runners.measuring import key_positions
from keybench.runners.planning.columns import check_server_keys
from keybench.runners.planning.server_choice import check_load_path, check_path_on_servers
from keybench.runners.trials.server_trial import Resources, ServerTrial
from keybench.scenarios.files import load_scenario
from tests.errors import raised
from tests.results.report.page import Page
from tests.runners.conftest import Run, results
from tests.runners.trials.test_engine_checks import ENDED, PLAN, REQUEST

BULK = load_scenario("bulk-load")
ROWS = load_scenario("quick")
BY_BULK = load_path("bulk")
ABLE = [name for name, on in engines().items() if "bulk" in on.paths]


def test_each_engine_loads_rows_and_sql_server_in_bulk() -> None:
    assert ABLE == ["mssql"]
    assert all("rows" in on.paths for on in engines().values())
    assert BULK.load.path == "bulk"
    assert ROWS.load.path == "rows"


def test_engines_without_it_are_refused_and_those_with_it_named() -> None:
    check_load_path(ROWS, list(engines()))
    check_load_path(BULK, ABLE)
    assert raised(UsageError, check_load_path, BULK, ["mssql", "sqlite"]) == (
        f'scenario bulk-load has path = "bulk": SQLite cannot load rows this way; '
        f"{' and '.join(ABLE)} can: choose one with --db."
    )


def test_a_page_model_is_refused() -> None:
    check_path_on_servers(ROWS, {"mssql": MODEL_SERVER})
    assert raised(UsageError, check_path_on_servers, BULK, {"mssql": MODEL_SERVER}) == (
        'scenario bulk-load has path = "bulk": a page model inserts row by row: choose another --server.'
    )


def test_keys_that_the_server_makes_are_refused() -> None:
    said = raised(UsageError, check_server_keys, ["server-newid"], ["mssql"], BULK)
    assert said.startswith("server-newid keys do not fit scenario bulk-load: it loads in bulk, which sends ")


def test_a_dry_run_says_what_the_path_means(here: Run) -> None:
    done = here("--db", "mssql", "--server", "mssql://me@db.example/s", "--scenario", "bulk-load", "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{BY_BULK.announcement}\n" in done.stdout


PLUGIN = """
from dataclasses import replace
import numpy as np
from keybench.databases.sqlite import ENGINE as SQLITE
from keybench.databases.sqlite.engine import Sqlite
from keybench.databases.sqlite.connection import EmbeddedServer
from keybench.databases.sqlite.session import SqliteSession
from keybench.model.byteorder import rank

class Session(SqliteSession):
    def prepare_in_bulk(self, keys, payload, start, rows_per_tx):
        return self.prepare(keys[np.argsort(rank(keys, self._table.column.order))], payload, start, rows_per_tx)

class Private(EmbeddedServer):
    def start(self):
        return replace(super().start(), engine="sorting")

class Sorting(Sqlite):
    def provision(self, server, settings):
        return Private(settings)
    def session(self, address, table):
        return Session(address, table)
    def verdicts(self, table, rows, writers, readings):
        raise AssertionError("these questions are about rows in order of arrival")

ENGINE = Sorting("sorting", "Sorting", SQLITE.columns, SQLITE.servers, paths=("rows", "bulk"), absent=SQLITE.absent)
"""
"""An engine of another distribution, on a real server, whose bulk path sorts as those of SQL Server and Oracle do."""

FILE = """
title = "x"
rows = 20_000
start = 2026-01-01T00:00:00Z
layouts = ["uuid-v4"]
[load]
path = "bulk"
rows_per_tx = 20_000
[after]
reads = 50
"""


@pytest.fixture
def plugged(tmp_path: Path) -> dict[str, str]:
    """The variable by which a command finds the engine; a scenario's file beside it."""
    folder = tmp_path / "plugin"
    info = folder / "sorting_engine-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "sorting_engine.py").write_text(PLUGIN, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sorting-engine\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[keybench.databases]\nsorting = sorting_engine\n", encoding="utf-8")
    (tmp_path / "by-bulk.toml").write_text(FILE, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))}


def measured(trials: list[Trial]) -> dict[str, dict[Metric, Reading]]:
    return {t.layout: {r.metric: r for r in t.readings if r.subject == KEY} for t in trials}


def test_a_bulk_run_is_measured_recorded_and_labelled(command: Run, plugged: dict[str, str], tmp_path: Path) -> None:
    done = command("--db", "sorting", "--scenario", "by-bulk.toml", **plugged)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{BY_BULK.announcement}\n" in done.stdout
    with results(tmp_path) as store:
        run = store.run("latest")
        trials, (environment,), warnings = store.trials(run.id), store.environments(run.id), store.warnings(run.id)
        page = Page(render(store, ["latest"])).text
    assert run.load_path == "bulk"
    assert environment.settings["load_path"] == BY_BULK.environment["load_path"]
    assert warnings == [BY_BULK.warning]
    assert {trial.status for trial in trials} == {"ok"}
    real = measured(trials)["uuid-v4"]
    assert (real[Metric.LEAF_FRAGMENTATION].value or 0) < 5  # in order of arrival, random keys have more than 20
    assert (real[Metric.INSERT_SECONDS].value or 0) > 0
    for trial in trials:
        (predicted,) = [reading for reading in trial.readings if reading.subject.kind == SubjectKind.MODEL]
        assert (predicted.metric, predicted.value, predicted.origin) == (Metric.LEAF_PAGES, None, "absent")
        assert predicted.reason.startswith("No prediction: rows were loaded in bulk, which the server sorts")
        own = measured([trial])[trial.layout]
        for reading in key_positions.absent("why"):
            assert (own[reading.metric].value, own[reading.metric].origin) == (None, "absent")
            assert own[reading.metric].reason.startswith("Rows were loaded in bulk, which the server sorts: ")
        assert own[Metric.APPENDS].value is own[Metric.INTERIOR_SPLITS].value is None  # not taken from the model
        assert [line.metric for line in trial.series] == [Metric.INSERT_SECONDS]
    assert "loaded in bulk, which sorts: splits are not those of rows in order of arrival" in page
    assert "No prediction: rows were loaded in bulk, which the server sorts" in page
    assert BY_BULK.warning in page
    rows = list(values(run.id, trials, run.load_path))
    assert {row["load_path"] for row in rows} == {"bulk"}


def test_an_engine_that_declares_it_and_has_no_such_session_is_a_defect() -> None:
    keys = Keys(np.arange(3), "int")
    with pytest.raises(TypeError, match=r"^the engine declares the load path bulk and its sessions \(.*\) do not"):
        BY_BULK.batches(object(), keys, Payload(0), 0, 1)  # type: ignore[arg-type]


def test_an_adapters_questions_are_not_asked_of_sorted_rows() -> None:
    resources = Resources(lambda _: pytest.fail("nothing is measured"))
    assert ServerTrial(REQUEST, PLAN, resources).warnings(ENDED)
    assert not ServerTrial(replace(REQUEST, scenario=BULK), PLAN, resources).warnings(ENDED)


def test_runs_of_before_were_by_rows() -> None:
    old = {"scenario": {"load": {"rows_per_tx": 5}}}
    run = Recorded("x", datetime(2026, 1, 1, tzinfo=UTC), "0", "", 1, 1, "quick", "durable", old, {})
    assert run.load_path == replace(run, definition={}).load_path == "rows"
