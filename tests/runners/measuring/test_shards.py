"""Rows in several tables: measured and predicted apart, and together."""

from __future__ import annotations

import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL, Subject
from keybench.runners.measuring.measured import of_all_shards
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.prediction import ModelTrial
from keybench.scenarios.files import load_scenario


def reading(metric: Metric, value: float | None, of: Subject = KEY) -> Reading:
    return Reading(metric, value, "measured", "", of) if value is not None else Reading(metric, None, "absent", "why.")


def test_counts_add_up_and_shares_are_weighted_by_leaves() -> None:
    first = [reading(Metric.LEAF_PAGES, 10), reading(Metric.LEAF_DENSITY, 60), reading(Metric.APPENDS, 9)]
    second = [reading(Metric.LEAF_PAGES, 30), reading(Metric.LEAF_DENSITY, 80), reading(Metric.APPENDS, None)]
    model = [reading(Metric.LEAF_PAGES, 7, MODEL)]
    order = [reading(Metric.HEAP_CORRELATION, 1.0)]
    found = of_all_shards([[*first, *order, *model], [*second, *order, *model, reading(Metric.BRANCH_PAGES, 1)]])
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
    assert of_all_shards([first]) == first


@pytest.mark.parametrize("name", ["oracle", "mariadb"])
def test_the_page_model_alone(name: str) -> None:
    work = load_scenario("sharded")
    request = Request((name,), {name: "model"}, work, ("uuid-v4",), (), 2000, 1, "fast", 3, 60.0)
    ended = ModelTrial(request, TrialPlan(1, 0, name, "uuid-v4", "binary16-mssql", 100, 2000)).run()
    assert (ended.status, ended.error) == ("ok", "")
    pages = {of.subject: of.value for of in ended.readings if of.metric == Metric.LEAF_PAGES}
    assert pages[KEY] == sum(pages[Subject.shard(number)] or 0 for number in (1, 2, 3, 4))
