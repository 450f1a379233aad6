"""The order of layouts, from figures that are given."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from keybench.advice.candidates import candidates
from keybench.advice.figure import Figure
from keybench.advice.index_forecast import IndexForecast
from keybench.advice.needs import USUAL, needs
from keybench.advice.ranking import Choice, Ranking, judge, ranking
from keybench.advice.row_cost import RowCost

LANGUAGES = {"uuid-v7": 7, "uuid-v4": 7, "uuid-v6": 3, "ulid": 5}
ROWS = 1_000_000
PAGE = 8192


def figure(value: float) -> Figure:
    return Figure(value, value, value, "exact model")


def forecast(index: float, log: float | None = None, reads: float | None = None) -> IndexForecast:
    """Of an index with so many bytes a row."""
    return IndexForecast(
        leaf_pages=figure(index * ROWS / PAGE),
        index_bytes=figure(index * ROWS),
        density=figure(70),
        splits=figure(1),
        cost=RowCost(reads=None if reads is None else figure(reads), log_bytes=None if log is None else figure(log)),
    )


def judge_all(of: Mapping[str, IndexForecast], db: str = "postgresql", **given: Any) -> dict[str, Choice]:
    made = needs({**USUAL, "db": db, "rows": str(ROWS), **given})
    found = {one.label: one for one in candidates(made, of.__contains__)}
    pairs = {label: (one, of[one.name]) for label, one in found.items() if one.name in of}
    return dict(zip(pairs, judge(list(pairs.values()), made), strict=True))


def ranked(of: Mapping[str, IndexForecast], **given: Any) -> Ranking:
    made_by = given.get("made_by", "any")
    return ranking(list(judge_all(of, **given).values()), made_by, lambda name: LANGUAGES.get(name, 0))


FOUR = {
    "bigint-identity": forecast(23, 80),
    "uuid-v7": forecast(32, 95),
    "uuid-v6": forecast(32, 95),
    "uuid-v4": forecast(45, 180, 0.5),
}
for one in ("bigint-identity", "uuid-v7", "uuid-v6"):
    FOUR[one] = replace(FOUR[one], cost=replace(FOUR[one].cost, reads=figure(0)))


def test_bytes_a_row_are_index_log_reads_and_what_other_indexes_hold() -> None:
    moved = judge_all(FOUR)["uuid-v4"].moved
    assert moved.value == 45 + 180 + 0.5 * 8192
    assert judge_all(FOUR, children=2)["uuid-v4"].moved.value == moved.value + 2 * 2 * 16
    assert judge_all(FOUR, secondary=3)["uuid-v4"].moved.value == moved.value  # a heap's indexes hold row ids
    assert judge_all(FOUR, db="mysql", secondary=3)["uuid-v4"].moved.value == moved.value + 3 * 16


def test_the_fewest_bytes_win() -> None:
    order = ranked(FOUR)
    assert order.best.candidate.name == "bigint-identity"
    assert [one.candidate.name for one in order.avoid] == ["uuid-v4"]


def test_the_second_choice_says_when_it_would_win() -> None:
    order = ranked(FOUR)
    assert order.runner_up.candidate.name == "uuid-v7"
    assert order.gains == ("--made-by client", "--unguessable", "--merge")


def test_of_layouts_that_cost_the_same_the_best_kept_wins() -> None:
    assert ranked(FOUR, made_by="client").best.candidate.name == "uuid-v7"
    assert ranked({**FOUR, "uuid-v7": forecast(40, 120)}, made_by="client").best.candidate.name == "uuid-v6"


def test_of_layouts_that_cost_the_same_the_one_asked_about_wins() -> None:
    found = list(judge_all(FOUR, made_by="client").values())
    order = ranking(found, "client", lambda name: LANGUAGES.get(name, 0), named=["uuid-v6", "uuid-v4"])
    assert order.best.candidate.name == "uuid-v6"


def test_of_layouts_that_cost_the_same_the_one_of_a_function_of_the_server_wins() -> None:
    of = {name: forecast(120) for name in ("newsequentialid", "rt-comb-sql")}
    assert ranked(of, db="mssql", made_by="server").best.candidate.name == "newsequentialid"


def test_keys_that_the_table_has_stay_if_they_cost_no_more() -> None:
    def best(of: Mapping[str, IndexForecast]) -> str:
        found = list(judge_all(of, made_by="client").values())
        order = ranking(found, "client", lambda name: LANGUAGES.get(name, 0), lambda one: one.name == "uuid-v6")
        return order.best.candidate.name

    assert best(FOUR) == "uuid-v6"
    assert best({**FOUR, "uuid-v6": forecast(40, 120, 0)}) == "uuid-v7"


def test_what_needs_forbid_is_no_choice() -> None:
    order = ranked(FOUR, hides_time=True, made_by="client")
    assert order.best.candidate.name == "uuid-v4"
    assert {one.candidate.name for one in order.missing} == {"bigint-identity", "uuid-v7", "uuid-v6"}
    assert order.avoid == ()
    assert order.spared.candidate.name == "uuid-v7"  # an integer is not made by clients


def test_what_is_unknown_counts_as_the_most_of_the_others() -> None:
    found = judge_all({**FOUR, "uuid-v6": forecast(10)})
    assert found["uuid-v6"].moved.value == 10 + 180 + 0.5 * 8192
    assert found["uuid-v6"].assumed
    assert not found["uuid-v4"].assumed
    assert ranked({**FOUR, "uuid-v6": forecast(10)}, made_by="client").best.candidate.name == "uuid-v7"


def test_no_choice_at_all() -> None:
    found = judge_all(FOUR, hides_time=True, sortable=True, made_by="client")
    assert ranking(list(found.values()), "client", lambda _: 1) is None


def test_a_figure_lies_in_its_interval() -> None:
    with pytest.raises(ValueError, match=r"^3 does not lie in its interval, 1 to 2$"):
        Figure(3, 1, 2, "scaled")
