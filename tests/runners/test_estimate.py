"""What a pilot measures, and what is concluded from it."""

from typing import get_args

import pytest

from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from keybench.runners import estimate
from keybench.runners.planning.trial_plan import Request, plan
from keybench.runners.servers import RunServers
from keybench.scenarios.files import load_scenario
from tests.errors import raised

CONTROL_AND_RANDOM = ("bigint-identity", "uuid-v4")


def request_for(
    rows: int, blocks: int = 1, servers: dict[str, str] | None = None, more: tuple[str, ...] = ()
) -> Request:
    """Trials of the control, of random GUIDs and of `more` layouts; by default on SQLite."""
    at = servers or {"sqlite": "embedded"}
    layouts = (*CONTROL_AND_RANDOM, *more)
    return Request(tuple(at), at, load_scenario("quick"), layouts, (), rows, blocks, "fast", 1, 60.0)


@pytest.mark.parametrize(
    ("rows", "asked"), [(600, {600}), (2001, {2001}), (5000, {2000, 5000}), (90_000, {2000, 20_000})]
)
def test_a_pilot_inserts_no_more_rows_than_a_trial_and_predicts_it(
    rows: int, asked: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def seconds(request, trial, servers, pool) -> float:
        seen.append((trial.layout, trial.rows))
        return 1 + trial.rows / 1000

    monkeypatch.setattr(estimate, "_seconds", seconds)
    request = request_for(rows, 6, more=("uuid-v7",))
    trials = plan(request)
    servers = RunServers(request, {}, lambda _: None, lambda _: None)
    found = estimate.pilot(request, trials, servers)
    less = " (fewer --rows, --layout or --blocks take less)" if rows == 90_000 else ""  # 27 minutes
    assert found == f"the trials will take about {estimate.duration(len(trials) * (1 + rows / 1000))}{less}"
    assert set(seen) == {(name, size) for name in ("bigint-identity", "uuid-v4") for size in asked}
    assert len(seen) == 2 * (1 + len(asked))


def test_the_first_trial_of_each_layout_loads_code_and_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    cold = {"bigint-identity", "uuid-v4"}

    def seconds(request, trial, servers, pool) -> float:
        first = trial.layout in cold
        cold.discard(trial.layout)
        return 10.0 if first else trial.rows / 10_000

    monkeypatch.setattr(estimate, "_seconds", seconds)
    request = request_for(40_000, 3)
    said: list[str] = []
    servers = RunServers(request, {}, lambda _: None, lambda _: None)
    assert estimate.pilot(request, plan(request), servers, say=said.append) == "the trials will take about 24 s"
    assert said == ["a pilot on SQLite"]


@pytest.mark.parametrize(
    ("rows", "blocks", "tried"),
    [(1_000, 8, [1_000]), (1_000, 9, [1_000] * 4), (20_000, 4, [2_000]), (20_000, 5, [2_000] * 4 + [20_000] * 2)],
)
def test_trials_with_four_times_the_rows_of_pilots_or_fewer_are_not_predicted(
    rows: int, blocks: int, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def seconds(request, trial, servers, pool) -> float:
        seen.append(trial.rows)
        return 7.0

    monkeypatch.setattr(estimate, "_seconds", seconds)
    request = request_for(rows, blocks)
    said: list[str] = []
    servers = RunServers(request, {}, lambda _: None, lambda _: None)
    found = estimate.pilot(request, plan(request), servers, say=said.append)
    assert seen == tried
    if len(tried) > 1:
        assert found.startswith("the trials will take about ")
        return
    assert said == ["a first trial on SQLite, which is not counted"]
    assert found == (
        "the trials are small: pilots would insert a quarter of their rows or more, so no time is predicted"
    )


def test_the_databases_with_enough_trials_are_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def seconds(request, trial, servers, pool) -> float:
        seen.append(trial.database)
        return 3.0 if trial.database == "sqlite" else 10.0

    monkeypatch.setattr(estimate, "_seconds", seconds)
    names = ("sqlite", "postgresql", "mariadb")
    request = request_for(1_000, 9, dict.fromkeys(names, "embedded"))
    trials = plan(request)
    left = [next(trial for trial in trials if trial.database == name) for name in names[1:]]
    left += [trial for trial in trials if trial.database == "sqlite"]
    servers = RunServers(request, {}, lambda _: None, lambda _: None)
    found = estimate.pilot(request, left, servers)
    assert seen == ["postgresql", "mariadb", *["sqlite"] * 4]
    assert found == (
        "the trials on SQLite will take about 54 s; those on PostgreSQL and MariaDB are small: pilots would insert a "
        "quarter of their rows or more, so no time is predicted"
    )


@pytest.mark.parametrize(
    ("rows", "total", "pilots"),
    [(3_000, 10**9, (3_000, 3_000)), (4_000, 10**9, (2_000, 4_000)), (50_000, 1_800_000, (2_000, 20_000)),
     (2_000_000, 8_000_000, (2_000, 40_000)), (2_000_000, 10**9, (2_000, 200_000))],
)  # fmt: skip
def test_pilots_grow_with_the_run(rows: int, total: int, pilots: tuple[int, int]) -> None:
    assert estimate.pilot_rows(rows, total) == pilots


@pytest.mark.parametrize(
    ("server", "place"), [("postgresql://me@h/x", "url"), ("container", "docker"), ("embedded", "machine")]
)
def test_each_kind_of_server_needs_a_disk_of_its_own(server: str, place: estimate.Place) -> None:
    request = request_for(40_000, servers={"postgresql": server})
    trials = plan(request)
    needed = {each: estimate.disk_bytes(request, trials, each) for each in get_args(estimate.Place)}
    assert needed.pop(place) > 0
    assert set(needed.values()) == {0}


@pytest.mark.parametrize(("server", "bytes_per_row"), [("model", 160), ("postgresql://me@h/x", 350)])
def test_memory_is_checked_as_disk_is(server: str, bytes_per_row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_for(10**9, servers={"postgresql": server})
    trials = plan(request)
    need = 10**9 * bytes_per_row
    monkeypatch.setattr(estimate.machine, "available_memory", lambda: need)
    assert estimate.check_memory(request, trials) == (need, need)
    monkeypatch.setattr(estimate.machine, "available_memory", lambda: need // 3)
    assert raised(EnvironmentMissing, estimate.check_memory, request, trials) == (
        f"the largest trial (1,000,000,000 rows) needs about {bytes_per_row}.0 GB of memory, and "
        f"{bytes_per_row / 3:.1f} GB are available: use fewer --rows (about 330,000,000 fit), or a machine with "
        "more memory."
    )


def test_a_private_servers_cache_is_counted_as_far_as_the_table_fills_it() -> None:
    request = request_for(1000, 1)
    (trial, *_), cache = plan(request), engine("sqlite").settings("fast", request.scenario.server.cache).cache_bytes
    table = estimate.disk_bytes(request, [trial])
    assert 0 < table < cache
    assert estimate.memory_bytes(request, trial, 1000) == 350_000 + table
    assert estimate.memory_bytes(request, trial, 10**9) == 350 * 10**9 + cache
