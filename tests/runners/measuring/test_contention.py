"""How often transactions meet on a leaf, and the readings of rollbacks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.core.retried import Rollbacks
from keybench.model.metric import Metric
from keybench.runners.measuring.contention import rollbacks, share_on_same_leaf


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 9), st.data())
def test_meetings_on_a_leaf_as_one_would_count_them(page_rows, rows_per_tx, writers, data) -> None:
    leaf_of_rank = [leaf for leaf, rows in enumerate(page_rows) for _ in range(rows)]
    ranks = data.draw(st.permutations(range(len(leaf_of_rank))))
    first_leaves = [leaf_of_rank[rank] for rank in ranks[::rows_per_tx]]
    met = [leaf in first_leaves[max(0, i - writers + 1) : i] for i, leaf in enumerate(first_leaves)]
    share = share_on_same_leaf(np.array(ranks), page_rows, rows_per_tx, writers)
    assert share == pytest.approx(100 * sum(met) / len(met))


def test_retries_are_those_of_transactions_that_were_rolled_back() -> None:
    values = {one.metric: one.value for one in rollbacks(Rollbacks(np.array([0, 3, 0, 1]), 1))}
    assert values == {Metric.ABORTS: 1000, Metric.DEADLOCKS: 250, Metric.RETRIES: 2, Metric.MOST_RETRIES: 3}


def test_where_nothing_is_rolled_back_there_is_no_number_of_retries() -> None:
    values = {one.metric: one.value for one in rollbacks(Rollbacks(np.zeros(4, np.int64), 0))}
    assert values == {Metric.ABORTS: 0, Metric.DEADLOCKS: 0}
    assert rollbacks(None) == []
