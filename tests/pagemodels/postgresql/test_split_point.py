"""The sorting routine sorts, and leaves equal elements where the server does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.pagemodels.postgresql.split_point import qsort_order as order_of


def qsort_order(keys: list[int]) -> list[int]:
    return order_of(np.array(keys, np.int64)).tolist()


@given(st.lists(st.integers(0, 60), max_size=300))
def test_it_sorts(keys: list[int]) -> None:
    places = qsort_order(keys)
    assert sorted(places) == list(range(len(keys)))
    assert [keys[place] for place in places] == sorted(keys)


def test_sorted_and_few_elements_keep_their_sequence() -> None:
    assert qsort_order([1] * 100) == list(range(100))
    assert qsort_order([2, 1, 2, 1, 1]) == [1, 3, 4, 0, 2]


@pytest.mark.parametrize(("splits", "first"), [(290, 144), (156, 78), (226, 113)])
def test_it_takes_the_same_one_of_two_middles_as_the_server(splits: int, first: int) -> None:
    """Branch pages of uuid, character(36) and bytea keys: an even number of splits, the middle two equally good.

    Those of live servers tell which: tests/databases/postgresql/test_page_model.py compares their branch pages.
    """
    middle = (splits - 1) / 2
    assert qsort_order([int(2 * abs(place - middle)) for place in range(splits)])[0] == first
