"""Spanner's bit-reversed integers: against published values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.generators.core.process import Process
from keybench.generators.integers import bit_reversed

NUMBERS = st.integers(0, (1 << 63) - 1)


# Spanner: the examples of BIT_REVERSE(…, true) in its documentation


@pytest.mark.parametrize(("number", "published"), [(100, 1369094286720630784), (-100, -7133701809754865665)])
def test_bits_are_reversed_as_spanner_documents_it(number, published) -> None:
    assert bit_reversed(np.array([number])).tolist() == [published]


@settings(max_examples=30)
@given(NUMBERS)
def test_reversed_bits_read_backwards(number) -> None:
    (reverse,) = bit_reversed(np.array([number])).tolist()
    assert f"{reverse:063b}" == f"{number:063b}"[::-1]
    assert bit_reversed(np.array([reverse])).tolist() == [number]


def test_a_power_of_two_of_reversed_numbers_covers_the_key_space_evenly(opened) -> None:
    keys = np.sort(opened("bigint-bit-reversed", []).take(1023).data)
    assert set(np.diff(keys).tolist()) == {1 << 53}


def test_writers_share_the_sequence(opened) -> None:
    parts = [opened("bigint-bit-reversed", [], process=Process("h", 1).partition(i, of=2)).take(2).data for i in (0, 1)]
    assert bit_reversed(np.concatenate(parts)).tolist() == [1, 3, 2, 4]
