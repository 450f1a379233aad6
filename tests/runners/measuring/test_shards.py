"""Rows in several tables: dealt by shard, measured and predicted apart, and together."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.databases.registry import engine
from keybench.generators.core.layout import layout
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL, Subject
from keybench.model.table import Table
from keybench.runners.measuring import shards
from keybench.runners.planning.plan import Request, TrialPlan
from keybench.runners.planning.sources import KeySource, key_sources
from keybench.runners.planning.tables import divide, table_of_each_writer
from keybench.runners.trials.model_trial import ModelTrial
from keybench.scenarios.files import load_scenario
from keybench.scenarios.schema import Scenario

TABLE = Table("rows", engine("sqlite").column("binary16"), 100)


def sources(work: Scenario, name: str, rows: int = 400) -> tuple[KeySource, ...]:
    request = Request(("sqlite",), {"sqlite": "embedded"}, work, (name,), (), rows, 1, "fast", 3, 60.0)
    return key_sources(request, TrialPlan(1, 0, "sqlite", name, "binary16", 100, rows))


def test_writers_go_to_the_table_that_their_shard_leaves_over() -> None:
    own = sources(load_scenario("sharded"), "uuid-v7")
    four = divide(TABLE, own, 4)
    assert [(part.table.name, part.writers) for part in four] == [
        ("rows_1", (3,)),
        ("rows_2", (0,)),
        ("rows_3", (1,)),
        ("rows_4", (2,)),
    ]
    assert [table.name for table in table_of_each_writer(four)] == ["rows_2", "rows_3", "rows_4", "rows_1"]
    assert [part.sources for part in four] == [(own[3],), (own[0],), (own[1],), (own[2],)]
    two = divide(TABLE, own, 2)
    assert [part.writers for part in two] == [(1, 3), (0, 2)]
    (one,) = divide(TABLE, own, 1)
    assert (one.table, one.writers, one.sources) == (TABLE, (0, 1, 2, 3), own)


@pytest.mark.parametrize("name", ["hotguid", "hotguid-sql"])
def test_hotguid_carries_the_shard_of_its_writer(name: str) -> None:
    for number, source in enumerate(sources(load_scenario("sharded"), name), start=1):
        keys = source.stream().take(source.writer.rows)
        assert set(np.asarray(layout(name).decode(keys).fields["shard"]).tolist()) == {number}
    for source in sources(load_scenario("azure-lag"), name):
        assert not np.any(layout(name).decode(source.stream().take(5)).fields["shard"])


def reading(metric: Metric, value: float | None, of: Subject = KEY) -> Reading:
    return Reading(metric, value, "measured", "", of) if value is not None else Reading(metric, None, "absent", "why.")


def test_counts_add_up_and_shares_are_weighted_by_leaves() -> None:
    first = [reading(Metric.LEAF_PAGES, 10), reading(Metric.LEAF_DENSITY, 60), reading(Metric.APPENDS, 9)]
    second = [reading(Metric.LEAF_PAGES, 30), reading(Metric.LEAF_DENSITY, 80), reading(Metric.APPENDS, None)]
    model = [reading(Metric.LEAF_PAGES, 7, MODEL)]
    order = [reading(Metric.HEAP_CORRELATION, 1.0)]
    found = shards.together([[*first, *order, *model], [*second, *order, *model, reading(Metric.BRANCH_PAGES, 1)]])
    values = {(of.subject, of.metric): of.value for of in found}
    assert values[KEY, Metric.LEAF_PAGES] == 40
    assert values[KEY, Metric.LEAF_DENSITY] == 75
    assert values[MODEL, Metric.LEAF_PAGES] == 14
    assert values[Subject.shard(1), Metric.LEAF_PAGES] == 10
    assert values[Subject.shard(2), Metric.LEAF_DENSITY] == 80
    reasons = {of.metric: of.reason for of in found if of.subject == KEY and of.value is None}
    assert reasons == {
        Metric.APPENDS: "why.",
        Metric.HEAP_CORRELATION: "Each shard's table has an order of its own.",
        Metric.BRANCH_PAGES: "Not of every shard.",
    }
    assert shards.together([first]) == first


@pytest.mark.parametrize("name", ["oracle", "mariadb"])
def test_the_page_model_alone(name: str) -> None:
    work = load_scenario("sharded")
    request = Request((name,), {name: "model"}, work, ("uuid-v4",), (), 2000, 1, "fast", 3, 60.0)
    ended = ModelTrial(request, TrialPlan(1, 0, name, "uuid-v4", "binary16-mssql", 100, 2000)).run()
    assert (ended.status, ended.error) == ("ok", "")
    pages = {of.subject: of.value for of in ended.readings if of.metric == Metric.LEAF_PAGES}
    assert pages[KEY] == sum(pages[Subject.shard(number)] or 0 for number in (1, 2, 3, 4))
