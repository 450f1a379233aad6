"""Percentiles of transactions along the load."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.model.metric import Metric
from keybench.runners.measuring import latency
from keybench.runners.writers.load import LoadResult


def loaded(seconds: np.ndarray) -> LoadResult:
    rows = np.arange(1, len(seconds) + 1) * 10
    return LoadResult(rows, np.cumsum(seconds), seconds, 0.5)


def test_percentiles_follow_the_transactions_as_they_get_slower() -> None:
    slow = np.repeat([0.001, 0.002, 0.003, 0.004], 1_000)
    slow[3_000:3_020] = 1.0  # two in a hundred of the last quarter's first part
    median, high = latency.along(loaded(slow))
    assert (median.metric, high.metric) == (Metric.TX_P50_MS, Metric.TX_P99_MS)
    assert median.x.tolist() == (np.arange(1, 41) * 1_000).tolist()
    assert median.y.tolist() == pytest.approx(np.repeat([1.0, 2.0, 3.0, 4.0], 10).tolist())
    assert high.y[30] > 500
    assert high.y[31:].max() == pytest.approx(4.0)


@pytest.mark.parametrize(("transactions", "parts"), [(1, 0), (39, 0), (40, 2), (100, 5), (10_000, 40)])
def test_a_part_has_enough_transactions_for_its_percentiles(transactions: int, parts: int) -> None:
    found = latency.along(loaded(np.full(transactions, 0.001)))
    assert [len(line.x) for line in found] == ([parts] * 2 if parts else [])
    if parts:
        assert found[0].x[-1] == transactions * 10, "the last part ends with the last row"
