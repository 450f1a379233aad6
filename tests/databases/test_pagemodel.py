import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.pagemodel import ranked
from keybench.errors import UsageError


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1)), unique=True, max_size=50))
def test_ranks_are_the_places_of_the_keys_in_their_order(keys: list[tuple[int, int]]) -> None:
    words = np.array(keys, np.uint64).reshape(-1, 2)
    assert ranked(words).tolist() == [sorted(keys).index(key) for key in keys]


def test_keys_of_one_word_are_ranked_alike() -> None:
    assert ranked(np.array([[30], [10], [20]], np.uint64)).tolist() == [2, 0, 1]


def test_duplicate_keys_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^two of the keys are the same: a page model takes distinct keys only\.$"):
        ranked(np.array([[7, 1], [7, 2], [7, 1]], np.uint64))
