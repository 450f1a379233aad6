"""Runs with `--server ranges`: stored, reported, and refused where they make no sense."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.names import RANGES_SERVER
from keybench.model.subject import KEY, Subject
from keybench.pagemodels.ranges.vendors import RULES, SCALED
from keybench.results.report.page import render
from keybench.results.store.database import Store
from keybench.results.store.records import Trial
from keybench.runners.options import Options
from keybench.runners.planning.trial_plan import Request
from keybench.runners.trials.ranges_trial import check
from keybench.scenarios.files import load_scenario
from tests.runners.conftest import Run


def value(trial: Trial, metric: Metric, of: Subject = KEY) -> float:
    (found,) = [one.value for one in trial.readings if (one.metric, one.subject) == (metric, of)]
    assert found is not None
    return found


def test_a_run_is_stored_and_reported(refused: Run, tmp_path: Path) -> None:
    options = ("--server", "ranges", "--db", "postgresql,mssql", "--layout", "uuid-v4,uuid-v7")
    done = refused(*options, "--rows", "20000", "--blocks", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "on postgresql (ranges), mssql (ranges)" in done.stdout
    assert "of disk" not in done.stdout
    assert "% of inserts on the hottest of 62 ranges (modelled)" in done.stdout
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        run = store.run("latest")
        trials = {(trial.database, trial.layout): trial for trial in store.trials(run.id, blobs=True)}
        assert {(one.database, one.server) for one in store.environments(run.id)} == {
            ("postgresql", "ranges"),
            ("mssql", "ranges"),
        }
        page = render(store, ["latest"])
    subjects = {KEY, *(Subject.rule(rule.name) for rule in RULES if rule is not SCALED)}
    for trial in trials.values():
        assert (trial.server, trial.status) == (RANGES_SERVER, "ok")
        assert {reading.subject for reading in trial.readings} == subjects
        assert {reading.origin for reading in trial.readings} == {"modelled"}
        assert {reading.metric for reading in trial.readings} == set(of_theme(Theme.RANGES))
        (blob,) = trial.blobs
        assert (blob.about["ranges"], blob.arrays["rows"].sum()) == (value(trial, Metric.RANGES), 20_000)
    hottest = {place: value(trial, Metric.HOTTEST_RANGE_SHARE) for place, trial in trials.items()}
    assert hottest["postgresql", "bigint-identity"] == hottest["postgresql", "uuid-v7"] == 100
    assert hottest["postgresql", "uuid-v4"] < 5
    assert hottest["mssql", "uuid-v7"] < 5, "SQL Server compares the random bytes first"
    assert "<code>bigint-identity</code> and <code>uuid-v7</code> send all inserts to one range" in page
    assert "in the ranges of a cluster that sorts keys as SQL Server and PostgreSQL do" in page
    assert "Which ranges take the inserts" in page
    assert page.count("Heat maps, 3 panels: time across, ranges in key order upwards.") == 2
    assert "Ranges by each vendor" in page
    assert "page model" not in page[: page.index("Published claims")].lower()


def request(scenario: str) -> Request:
    made, _ = Options(
        given=frozenset(), db="postgresql", layout="uuid-v4", scenario="quick", server=("ranges",), column="",
        settings=(), rows=1000, writers=None, payload="", executor="", blocks=1, profile="durable", seed=1, image="",
        memory_bytes=1, cpus=1.0, keep_server=False, trial_timeout=1.0,
    ).request()  # fmt: skip
    return replace(made, scenario=load_scenario(scenario))


@pytest.mark.parametrize(
    ("scenario", "problem"),
    [
        ("retention", "has an index with a past"),
        ("sharded", "divides its rows among tables"),
        ("fk-index", "has a foreign key"),
        ("refill", "deletes and refills"),
    ],
)
def test_scenarios_of_other_tables_are_refused(scenario: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(request(scenario))
    assert str(caught.value) == (
        f"scenario {scenario} {problem}, and --server ranges knows one table that only grows: choose another scenario "
        "or another server."
    )
