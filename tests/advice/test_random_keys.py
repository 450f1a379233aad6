"""How many leaves random keys make."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.advice.random_keys import expected_leaves
from keybench.pagemodels.half_split.kernel import ALONE, Rule
from tests.pagemodels.half_split.plain import split_model


def exactly(page_rows: list[int], room: int, keep: int, rows: int) -> float:
    """The expectation key by key: each goes to a leaf in proportion to its entries."""
    leaves = np.bincount(page_rows, minlength=room + 1).astype(float)
    sizes = np.arange(room + 1)
    for n in range(sum(page_rows), rows):
        hit = leaves * sizes / n
        leaves -= hit
        leaves[1:] += hit[:-1]
        leaves[keep] += hit[room]
        leaves[room + 1 - keep] += hit[room]
    return float(leaves.sum())


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_the_rule_of_random_keys_is_that_of_single_keys(data: st.DataObject) -> None:
    room = data.draw(st.integers(4, 30))
    keep = data.draw(st.integers(1, room))
    page_rows = data.draw(st.lists(st.integers(1, room), min_size=40, max_size=60))
    rows = sum(page_rows) + data.draw(st.integers(0, 3000))
    ((found,),) = expected_leaves([np.array(page_rows)], room, keep, [rows])
    assert found == pytest.approx(exactly(page_rows, room, keep, rows), rel=2e-3)


def test_random_keys_of_the_page_model_have_that_many_leaves_on_average() -> None:
    room, keep, first, rows = 40, 20, 4_000, 32_000
    model = split_model(
        Rule(room, room, ALONE, keep, keep), Rule(100, 100, 50, 50, 50), lambda n, _used, pages: n / pages
    )
    made, small = [], []
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(rows).astype(np.int64)
        made.append(model.insert(order).leaf_pages)
        small.append(model.insert(np.argsort(np.argsort(order[:first]))).page_rows)
    (expected,) = expected_leaves(small, room, keep, [rows])
    differ = np.array(made) / expected - 1
    assert abs(differ.mean()) < 4 * differ.std() / np.sqrt(len(made))
    assert differ.std() < 0.01


def test_the_density_swings_around_ln_2_and_less_and_less() -> None:
    swings = []
    for rows in (1e6, 1e9):
        at = np.geomspace(rows, 2 * rows, 16)
        density = at / expected_leaves([np.array([290])], 290, 145, at.tolist())[:, 0] / 290
        assert np.log(2) == pytest.approx(np.mean(density), rel=0.01)
        swings.append(max(density) - min(density))
    assert swings[1] < swings[0] / 3
