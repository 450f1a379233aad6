"""Trials about what writers do to one another: what they measure, and what is refused."""

from collections.abc import Iterator

import pytest

from keybench.databases.registry import engines
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.subject import KEY, SubjectKind
from keybench.runners.planning.columns import check_server_keys
from keybench.runners.planning.server_choice import check_load_path, check_path_on_servers
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.servers import Target
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.scenarios.files import load_scenario, parse_scenario
from tests.errors import raised
from tests.runners.conftest import running

SCENARIO = load_scenario("look-up-then-insert")


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with running("postgresql=embedded") as (target, _):
        yield target


@pytest.mark.long
def test_a_trial_counts_aborts_and_samples_waits(target: Target) -> None:
    request = Request(
        ("postgresql",), {"postgresql": "embedded"}, SCENARIO.with_equal_writers(2), ("uuid-v7",), (), 1200, 1, "fast",
        3, 60.0,
    )  # fmt: skip
    plan = TrialPlan(1, 0, "postgresql", "uuid-v7", "uuid", 100, 1200)
    trial = new_trial(request, plan, Resources(lambda _: target))
    record = trial.run()
    assert record.error == ""
    values = {one.metric: one for one in record.readings if one.subject == KEY}
    assert values[Metric.ABORTS].value is not None
    assert values[Metric.DEADLOCKS].value == 0
    shares = [one.value or 0 for one in record.readings if one.subject.kind == SubjectKind.WAIT]
    assert sum(shares) == pytest.approx(100)
    assert values[Metric.LEAF_PAGES].value
    assert values[Metric.POSITION_MEAN].reason == "Not known in trials about what writers do to one another."


def test_writers_are_watched_while_the_server_makes_their_keys(target: Target) -> None:
    scenario = load_scenario("saturate").with_equal_writers(4)
    request = Request(
        ("postgresql",), {"postgresql": "embedded"}, scenario, ("server-identity",), (), 400, 1, "fast", 3, 60.0
    )
    plan = TrialPlan(1, 0, "postgresql", "server-identity", "bigint", 100, 400)
    record = new_trial(request, plan, Resources(lambda _: target)).run()
    assert record.error == ""
    values = {one.metric: one for one in record.readings if one.subject == KEY}
    assert values[Metric.LEAF_PAGES].value


def test_a_server_makes_no_keys_for_transactions_that_look_them_up() -> None:
    with pytest.raises(UsageError, match="do not fit scenario look-up-then-insert: its transactions look up keys and"):
        check_server_keys(["server-identity"], ["postgresql"], SCENARIO)


def test_engines_without_levels_are_refused_and_those_with_them_named() -> None:
    able = " and ".join(sorted(name for name, on in engines().items() if "serializable" in on.isolations))
    assert raised(UsageError, check_load_path, SCENARIO, ["postgresql", "sqlite"]) == (
        'scenario look-up-then-insert has isolation = "serializable": keybench does not run SQLite\'s transactions so; '
        f"{able} can: choose with --db."
    )


def test_a_page_model_has_no_transactions() -> None:
    assert raised(UsageError, check_path_on_servers, SCENARIO, {"postgresql": "model"}) == (
        "scenario look-up-then-insert is about transactions, which a page model does not have: choose another --server."
    )


HEAD = 'title = "t"\nrows = 100\nstart = 2026-01-01T00:00:00Z\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("watched = 5\n[after]\nreads = 1",
         "a scenario with isolation, look_up, filled or watched has no after: leave it out"),
        ("filled = 0.5\n[table]\nkey = 'fk'",
         "isolation, look_up, filled and watched are for a table with a row a key"),
        ('look_up = "key"\npath = "bulk"', "are for rows in order: leave out the path"),
        ('look_up = "key"\n[before]\nlayout = "uuid-v4"\nshare = 0.5',
         "with isolation, look_up, filled or watched has no before: leave it out"),
        ('isolation = "snapshot"', "Input should be 'read-committed', 'repeatable-read' or 'serializable'"),
        ("filled = 1.0", "Input should be less than 1"),
        ("watched = 201", "Input should be less than or equal to 200"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(text: str, said: str) -> None:
    assert said in raised(UsageError, parse_scenario, "mine", f"{HEAD}[load]\n{text}\n", where="mine")
