from __future__ import annotations

import pickle

import pytest

from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme


@pytest.mark.parametrize("metric", Metric)
def test_each_declaration_is_complete(metric: Metric) -> None:
    assert metric.name == metric.upper()
    about = metric.definition
    assert about.title[0].isupper()
    assert about.text.endswith(".")
    assert (about.shards == "mean") == (about.of_index and about.is_percentage)


def test_a_metric_is_found_by_its_name_and_is_a_string() -> None:
    assert Metric("lag_rows") is Metric.LAG_ROWS
    assert f"{Metric.LAG_ROWS}" == "lag_rows"
    assert pickle.loads(pickle.dumps(Metric.LAG_ROWS)) is Metric.LAG_ROWS


def test_every_metric_has_one_theme() -> None:
    assert sorted(metric for theme in Theme for metric in of_theme(theme)) == sorted(Metric)


def test_times_of_the_scenario_do_not_depend_on_the_machine() -> None:
    assert Metric.INSERT_SECONDS.definition.is_time
    assert Metric.RANGE_US_PER_ROW.definition.is_time
    assert not Metric.LAG_SECONDS.definition.is_time
    assert not Metric.CLOCK_LEAD_MS.definition.is_time
    assert not Metric.LEAF_PAGES.definition.is_time
