"""What pictures are drawn from comes back as it was, and stays small."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.results.store import blobs
from keybench.results.store.blobs import Blob


@given(
    st.lists(st.integers(0, 2**40), max_size=30), st.sampled_from(["<i8", ">i8", "<f4", "<u2"]), st.text(max_size=20)
)
def test_arrays_and_facts_come_back(values: list[int], form: str, note: str) -> None:
    array = np.array(values, np.int64).astype(form)
    back = Blob("k", Blob.pack("k", {"note": note}, {"a": array, "b": array[::2]}).content)
    assert back.about == {"note": note}
    assert np.array_equal(back.arrays["a"], array)
    assert np.array_equal(back.arrays["b"], array[::2])
    assert back.arrays["a"].dtype.isnative


@pytest.mark.parametrize("leaves", [1, 7, blobs.MOST_LEAVES, 100_000])
def test_a_page_map_holds_all_leaves_or_evenly_spaced_ones(leaves: int) -> None:
    numbers = np.arange(leaves, dtype=np.int64)[::-1] + 3
    found = blobs.page_map(numbers, np.full(leaves, 9), "measured", "doubt")
    assert (found.kind, found.about["leaves"]) == (blobs.PAGES, leaves)
    assert (found.about["first"], found.about["last"]) == (3, leaves + 2)
    places = found.arrays["place"].astype(np.int64)
    assert len(places) == min(leaves, blobs.MOST_LEAVES)
    assert (places[0], places[-1]) == (0, leaves - 1)
    assert np.array_equal(found.arrays["number"], numbers[places])
    if len(places) > 1:
        steps = np.diff(places)
        assert steps.max() - steps.min() <= 1
    assert blobs.page_map(numbers, numbers, "modelled").kind == blobs.MODEL_PAGES


def test_sampled_positions_are_fair_to_writers_that_take_turns() -> None:
    rows = 1_000_000
    owner = np.arange(rows) % 4
    found = blobs.positions(["a", "b", "c", "d"], owner, owner / 2, owner / 4)
    counts = np.bincount(found.arrays["writer"], minlength=4)
    assert counts.sum() == blobs.MOST_POINTS
    assert counts.min() > 0.2 * blobs.MOST_POINTS, "each has about a quarter"
    assert np.array_equal(found.arrays["above"] * 4, found.arrays["writer"])
    assert (np.diff(found.arrays["row"].astype(np.int64)) > 0).all()
    assert len(found.content) < 40_000


def test_few_rows_are_all_kept_and_none_make_no_trouble() -> None:
    found = blobs.positions(["w"], np.zeros(5, np.int64), np.arange(5.0), np.zeros(5), "doubt")
    assert found.arrays["row"].tolist() == [0, 1, 2, 3, 4]
    assert found.about == {"rows": 5, "writers": ["w"], "note": "doubt"}
    assert len(blobs.positions(["w"], np.zeros(0, np.int64), np.zeros(0), np.zeros(0)).arrays["row"]) == 0
