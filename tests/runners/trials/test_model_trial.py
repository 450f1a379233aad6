"""Runs through a page model, and the prediction beside a real trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import CLUSTERED, KEY, MODEL, PARENT
from keybench.model.table import Table
from keybench.pagemodels.costs.plain_cache import NOTE
from keybench.pagemodels.page_stats import PageStats
from keybench.results.analysis.groups import group_trials
from keybench.results.plots.canvas import styles
from keybench.results.report.figures import group_figures
from keybench.results.store import blobs
from keybench.results.store.records import Trial
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.planning.server_choice import resolve
from keybench.runners.planning.trial_tables import TrialTable
from keybench.runners.trials.prediction import predicted_alone, predicted_beside
from tests.runners.conftest import Run, latest_trials, results

KINDS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)


def values(trial: Trial, of: str) -> dict[Metric, float | None]:
    return {reading.metric: reading.value for reading in trial.readings if reading.subject == of}


def test_a_run_without_any_server(here: Run, tmp_path: Path) -> None:
    options = ("--db", "postgresql,mssql", "--server", "model", "--rows", "20000", "--blocks", "1")
    done = here(*options, "--layout", "uuid-v4,rt-comb-sql")
    assert (done.returncode, done.stderr) == (0, "")
    assert "on postgresql (model), mssql (model)" in done.stdout
    assert "of disk" not in done.stdout
    assert "% full (modelled)" in done.stdout
    trials = latest_trials(tmp_path)
    assert {(trial.server, trial.status) for trial in trials} == {("model", "ok")}
    for trial in trials:
        own = [reading for reading in trial.readings if reading.subject == KEY]
        assert {reading.origin for reading in own} == {"modelled", "derived", "absent"}
        of = values(trial, KEY)
        assert sum(of[kind] or 0 for kind in KINDS) == (of[Metric.LEAF_PAGES] or 0) - 1
    with results(tmp_path) as store:
        (environment, _) = store.environments(store.run("latest").id)
        assert set(environment.versions) == {"keybench", "numba", "numpy"}


def test_the_model_is_beside_the_server_and_equal(here: Run, tmp_path: Path) -> None:
    done = here("--db", "postgresql", "--layout", "uuid-v4", "--rows", "20000", "--blocks", "1", "--writers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        real, model = values(trial, KEY), values(trial, MODEL)
        assert model.keys() >= {Metric.LEAF_PAGES, Metric.LEAF_DENSITY, *KINDS}
        # A split takes its page before it is logged (nbtinsert.c): of two at once the later may have the earlier page,
        # which changes at most four steps between neighbours.
        step = 100 / (real[Metric.LEAF_PAGES] or 1)
        apart = {Metric.LEAF_FRAGMENTATION: 4 * step, Metric.LEAF_NONADJACENT: 4 * step}
        assert Metric.PAGES_READ not in model, "all pages fit the cache, so that nothing is predicted"
        for metric in model.keys() - {Metric.BRANCH_PAGES}:
            assert model[metric] == pytest.approx(real[metric], abs=apart.get(metric, 1e-9)), metric


def rows(table: Table, keys: Keys) -> Arrived:
    """These keys of one writer, in the order in which they are given."""
    given = TrialTable(table, ())
    given.__dict__["keys"] = keys
    given.__dict__["created"] = lambda: None
    return Arrived.as_planned(given)


def others(on: Engine, table: Table, keys: Keys) -> list[Reading]:
    return [
        reading for reading in predicted_alone(on, rows(table, keys)).readings if reading.subject in (CLUSTERED, PARENT)
    ]


def test_what_a_table_has_beside_its_key_is_modelled_where_it_can_be() -> None:
    keys = Keys(np.arange(1000, dtype=np.int64), "int")
    parent = others(engine("mssql"), replace(_table("mssql"), key="fk", children=2), keys)
    assert {reading.subject for reading in parent} == {PARENT}
    assert {reading.metric: reading.value for reading in parent}[Metric.LEAF_PAGES] == 3
    for on in engines().values():
        if on.has_page_model:
            column = on.default_column("int")
            (said,) = others(on, Table("t", column, 0, "by-date"), keys)
            assert (said.subject, said.value, said.origin) == (CLUSTERED, None, "absent")
            assert said.reason.endswith(".")


def test_what_the_model_refuses_is_said_and_the_measured_values_stand() -> None:
    measured = [Reading(Metric.LEAF_PAGES, 3.0, "measured")]
    keys = Keys(np.zeros(2, np.int64), "int")
    found = predicted_beside(engine("postgresql"), rows(_table("postgresql"), keys), measured).readings
    assert found[: len(measured)] == measured
    (said,) = found[len(measured) :]
    assert (said.value, said.origin, said.subject) == (None, "absent", MODEL)
    assert said.reason == "No prediction: two of the keys are the same: a page model takes distinct keys only."


def test_kinds_of_splits_are_derived_only_from_a_model_of_the_same_index() -> None:
    table = _table("postgresql")
    stats = PageStats(9, 3, 2, 0, 0, 75.0, 1, 50.0, 50.0, 0.0, np.arange(3), np.full(3, 3))
    absent = Reading.absent(KINDS, "It counts none.")
    same = [
        Reading(Metric.LEAF_PAGES, 3.0, "measured"),
        Reading(Metric.LEAF_DENSITY, 75.0, "measured"),
        Reading(Metric.LEAF_FRAGMENTATION, 50.0, "measured"),
    ]
    keys = Keys(np.arange(2, dtype=np.int64), "int")
    found = predicted_beside(_Fixed(stats), rows(table, keys), [*same, *absent]).readings  # type: ignore[arg-type]
    derived = {r.metric: (r.value, r.origin) for r in found if r.subject == KEY and r.metric in KINDS}
    assert derived == dict(zip(KINDS, [(2.0, "derived"), (0.0, "derived"), (0.0, "derived")], strict=True))
    other = [Reading(Metric.LEAF_PAGES, 4.0, "measured"), *same[1:]]
    found = predicted_beside(_Fixed(stats), rows(table, keys), [*other, *absent]).readings  # type: ignore[arg-type]
    assert {r.origin for r in found if r.subject == KEY and r.metric in KINDS} == {"absent"}


class _Fixed:
    """An engine whose model says always the same."""

    def __init__(self, stats: PageStats) -> None:
        self._stats = stats

    def page_model(self, table: Table) -> _Fixed:
        return self

    def insert(self, ranks: object, checkpoints: object = ()) -> PageStats:
        return self._stats


def _table(name: str) -> Table:
    return Table("t", engine(name).column("bigint"), 0)


def test_an_engine_without_a_model_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    on = engine("sqlite")
    monkeypatch.setattr(type(on), "has_page_model", False)  # as an engine of another distribution may have none
    with pytest.raises(UsageError, match=rf"^there is no page model of {on.title}: measure on a server, or choose "):
        resolve((on.name,), ("model",))


def test_auto_never_falls_back_to_the_model() -> None:
    assert "model" not in resolve(("sqlite",), ("auto",)).values()


SMALL = ("--db", "postgresql", "--server", "model", "--layout", "uuid-v4", "--blocks", "1")


def test_a_cache_that_is_too_small_is_seen_in_figures_and_picture(here: Run, tmp_path: Path) -> None:
    done = here(*SMALL, "--ram", "2MB", "--scenario", "beyond-cache", "--rows", "150000")
    assert (done.returncode, done.stderr) == (0, "")
    with results(tmp_path) as store:
        run = store.run("latest")
        trials = store.trials(run.id, blobs=True)
    read = {
        one.layout: next(r for r in one.readings if (r.metric, r.subject) == (Metric.PAGES_READ, KEY)) for one in trials
    }
    assert {reading.origin for reading in read.values()} == {"modelled"}
    assert 40_000 < (read["uuid-v4"].value or 0) < 150_000
    assert (read["bigint-identity"].value or 0) < 100
    course = next(blob for one in trials for blob in one.blobs if one.layout == "uuid-v4" and blob.kind == blobs.COST)
    assert course.about["cache_bytes"] == 2 << 20
    assert course.arrays["pages_read"][-1] == read["uuid-v4"].value
    (group,) = group_trials(run, trials, [])
    found = group_figures(group, styles([arm.layout for arm in group.arms], "bigint-identity"), "g")
    picture = next(one for one in found if one.key.endswith("beyond-memory"))
    assert picture.svg
    assert picture.origin == "Modelled."
    assert "The server's cache has 2 MB." in picture.caption


def test_a_cache_that_holds_all_is_said_to(here: Run) -> None:
    done = here(*SMALL, "--ram", "1GB", "--rows", "5000", "--dry-run")
    assert "PostgreSQL: a cache of 1 GB holds all of 5,000 rows (about " in done.stdout
    assert "so nothing is read." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--db", "postgresql", "--ram", "1GB"),
         "--ram is for page models, and PostgreSQL runs on a server that has its own: leave it out, or choose "
         "--server model."),
        (("--db", "sqlite", "--checkpoint", "1GB"),
         "--checkpoint is for page models, and SQLite runs on a server that has its own: leave it out, or choose "
         "--server model."),
        ((*SMALL, "--ram", "99x"), "--ram '99x' is no size: write it as 512MB or 64GB."),
        ((*SMALL, "--ram", "100KB"), "a cache of 102,400 bytes has fewer than 100 pages: give it more memory."),
    ],
)  # fmt: skip
def test_sizes_that_make_no_sense(here: Run, arguments: tuple[str, ...], message: str) -> None:
    done = here(*arguments)
    assert (done.returncode, " ".join(done.stderr.split())) == (2, f"keybench: {message}")


def test_reads_after_a_restart_say_where_the_cache_is_a_plain_one(here: Run, tmp_path: Path) -> None:
    arguments = ("--server", "model", "--layout", "uuid-v4", "--scenario", "cold-start", "--rows", "5000")
    done = here("--db", "mssql,postgresql", *arguments, "--blocks", "1")
    assert (done.returncode, done.stderr) == (0, "")
    trials = latest_trials(tmp_path)
    known = {
        one.database: [
            (r.subject.name, r.reason) for r in one.readings if r.metric == Metric.PAGES_READ and r.value is not None
        ]
        for one in trials
    }
    assert known == {
        name: [("1 insert", note), ("3 insert", note)] for name, note in (("mssql", NOTE), ("postgresql", ""))
    }
