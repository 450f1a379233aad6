"""What a pilot measures, and what is concluded from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keybench.runners import estimate
from keybench.runners.planning.trial_plan import Request, plan
from keybench.runners.servers import Servers
from keybench.scenarios.files import load_scenario


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
    request = Request(
        ("sqlite",),
        {"sqlite": "embedded"},
        load_scenario("quick"),
        ("uuid-v4", "uuid-v7"),
        (),
        rows,
        2,
        "fast",
        1,
        60.0,
    )
    request = replace(request, layouts=("bigint-identity", *request.layouts))
    trials = plan(request)
    servers = Servers(request, {}, lambda _: None, lambda _: None)
    assert estimate.pilot(request, trials, servers) == pytest.approx(len(trials) * (1 + rows / 1000))
    assert set(seen) == {(name, size) for name in ("bigint-identity", "uuid-v4") for size in asked}
    assert len(seen) == 2 * len(asked)
