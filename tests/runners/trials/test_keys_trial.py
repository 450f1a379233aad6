"""Trials that only make keys: what is counted is exact, and the whole command stores and reports them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.names import NO_DATABASE
from keybench.results.report.page import render
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import Request, plan, resolve_layouts
from keybench.runners.trials.keys_trial import KeysTrial, breaks, duplicates
from keybench.scenarios.files import load_scenario
from tests.runners.conftest import Run, results

Counts = dict[Metric, float | None]

ONE, FOUR = "AES, 1 thread", "AES, 4 threads"


def request(*layouts: str, rows: int = 20_000) -> Request:
    scenario = load_scenario("generation")
    return Request((), {}, scenario, resolve_layouts(layouts, scenario), (), rows, 1, "durable", 1, 60.0)


def values(trial: Trial) -> Counts:
    assert trial.error == ""
    return {reading.metric: reading.value for reading in trial.readings}


def run(asked: Request, *ways: str) -> dict[tuple[str, str], Trial]:
    """The trials of these ways to make keys."""
    return {(one.layout, one.column): KeysTrial(asked, one).run() for one in plan(asked) if one.column in ways}


def counts(*layouts: str, rows: int = 20_000, ways: Sequence[str]) -> dict[tuple[str, str], Counts]:
    return {about: values(trial) for about, trial in run(request(*layouts, rows=rows), *ways).items()}


def test_every_way_is_a_trial_and_random_guids_are_always_among_them() -> None:
    trials = plan(request("morris"))
    assert {trial.layout for trial in trials} == {"bigint-identity", "uuid-v4", "morris"}
    assert {trial.database for trial in trials} == {NO_DATABASE}
    sources = ("AES", "operating system", "plain PRNG")
    ways = ("1 thread", "4 threads")
    assert {trial.column for trial in trials} == {f"{s}, {n}" for s in sources for n in ways}


def test_duplicates_and_breaks_are_counted() -> None:
    numbers = Keys(np.array([5, 6, 6, -1, 7, 5]), "int")
    assert duplicates(numbers) == 2
    assert breaks(numbers, "rfc") == 3
    guids = np.zeros((4, 16), np.uint8)
    guids[:, 15] = [1, 2, 2, 3]
    guids[3, 0] = 255
    assert duplicates(Keys(guids, "uuid")) == 1
    assert breaks(Keys(guids, "uuid"), "rfc") == 1
    assert breaks(Keys(guids, "uuid"), "net") == 1
    guids[3, 14] = 0
    guids[3, 15] = 1
    assert breaks(Keys(guids, "uuid"), "mssql") == 2
    assert breaks(Keys(guids[:1], "uuid"), "rfc") == duplicates(Keys(guids[:0], "uuid")) == 0


def test_what_layouts_promise_shows_in_the_counts() -> None:
    ways = (ONE, "operating system, 4 threads")
    found = counts("uuid-v7", "efcore-sequential", "rt-comb-sql-no-repeat", "tvondra-sequence", ways=ways)
    for (layout, way), of in found.items():
        assert of[Metric.KEY_NS] > 0
        assert of[Metric.DUPLICATE_KEYS] == 0, (layout, way)
    one = {layout: of for (layout, way), of in found.items() if way == ONE}
    assert one["uuid-v4"][Metric.ORDER_BREAKS] is None
    assert one["efcore-sequential"][Metric.ORDER_BREAKS] == one["bigint-identity"][Metric.ORDER_BREAKS] == 0
    assert 0.4 < one["uuid-v7"][Metric.ORDER_BREAKS] / 20_000 < 0.6  # random within the millisecond
    assert one["uuid-v7"][Metric.CLOCK_LEAD_MS] == 0
    assert one["efcore-sequential"][Metric.CLOCK_LEAD_MS] is None


def test_a_timestamp_that_never_repeats_runs_ahead_of_the_clock() -> None:
    """20,000 keys in 2 ms, 4 ms each (`UtcNoRepeat`'s increment): the last is some 80 s ahead."""
    found = counts("rt-comb-sql-no-repeat", ways=[ONE])["rt-comb-sql-no-repeat", ONE]
    assert found[Metric.CLOCK_LEAD_MS] == pytest.approx(20_000 * 4, rel=0.01)
    assert found[Metric.ORDER_BREAKS] == 0


def test_counts_repeat_exactly() -> None:
    one, two = (counts("uuid-v7", rows=5000, ways=[ONE, FOUR, "plain PRNG, 4 threads"]) for _ in range(2))
    exact = (Metric.DUPLICATE_KEYS, Metric.ORDER_BREAKS, Metric.CLOCK_LEAD_MS)
    assert len(one) == 9
    for about, of in one.items():
        assert [of[m] for m in exact] == [two[about][m] for m in exact]


def test_a_layout_that_cannot_is_an_error_and_no_number() -> None:
    asked = request("uuid-v7")
    early = asked.scenario.model_copy(update={"start": datetime(1960, 1, 1, tzinfo=UTC)})
    for trial in plan(asked):
        if trial.column != ONE:
            continue
        ended = KeysTrial(replace(asked, scenario=early), trial).run()
        assert (ended.status, bool(ended.readings)) == (("error", False) if trial.layout == "uuid-v7" else ("ok", True))
        assert ("uuid-v7 keys hold instants from 1970" in ended.error) == (trial.layout == "uuid-v7")


def test_the_command_stores_resumes_and_reports(here: Run, tmp_path: Path) -> None:
    done = here("--scenario", "generation", "--layout", "morris", "--rows", "2000", "--blocks", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "without a database" in done.stdout
    assert "18 trials in 1 block, 2,000 keys in each trial; 36,000 keys to make" in done.stdout
    with results(tmp_path) as store:
        page = render(store, ["latest"])
        trials = store.trials(store.run("latest").id)
    assert {trial.database for trial in trials} == {NO_DATABASE}
    assert "keys alone · AES, 4 threads" in page
    assert "Time to make a key" in page
    assert "Duplicate keys: none." in page
    again = here("--resume", "latest")
    assert again.returncode == 0, again.stderr
    assert "18 of them recorded already; 0 keys to make" in again.stdout


def test_options_of_databases_are_refused(here: Run) -> None:
    done = here("--scenario", "generation", "--db", "sqlite", "--writers", "2")
    assert done.returncode == 2
    assert done.stderr == (
        "keybench: scenario generation only makes keys, without a database: leave out --db, --writers.\n"
    )
