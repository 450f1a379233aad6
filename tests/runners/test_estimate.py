"""The disk and the memory that a run needs."""

from typing import get_args

import pytest

from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from keybench.runners import estimate
from keybench.runners.planning.trial_plan import Request, plan
from keybench.scenarios.files import load_scenario

CONTROL_AND_RANDOM = ("bigint-identity", "uuid-v4")


def request_for(rows: int, servers: dict[str, str] | None = None) -> Request:
    """Trials of the control and of random GUIDs; by default on SQLite."""
    at = servers or {"sqlite": "embedded"}
    return Request(tuple(at), at, load_scenario("quick"), CONTROL_AND_RANDOM, (), rows, 1, "fast", 1, 60.0)


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
    with pytest.raises(EnvironmentMissing) as caught:
        estimate.check_memory(request, trials)
    assert str(caught.value) == (
        f"the largest trial (1,000,000,000 rows) needs about {bytes_per_row}.0 GB of memory, and "
        f"{bytes_per_row / 3:.1f} GB are available: use fewer --rows (about 330,000,000 fit), or a machine with "
        "more memory."
    )


def test_a_private_servers_cache_is_counted_as_far_as_the_table_fills_it() -> None:
    request = request_for(1000)
    (trial, *_), cache = plan(request), engine("sqlite").settings("fast", request.scenario.server.cache).cache_bytes
    table = estimate.disk_bytes(request, [trial])
    assert 0 < table < cache
    assert estimate.memory_bytes(request, trial, 1000) == 350_000 + table
    assert estimate.memory_bytes(request, trial, 10**9) == 350 * 10**9 + cache
