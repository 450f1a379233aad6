"""The process of a writer, and which rows of the plan it writes."""

import os
import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.generators.core.process import Process


def test_current() -> None:
    process = Process.current()
    assert (process.machine, process.pid) == (socket.gethostname(), os.getpid())
    assert (process.index, process.of) == (0, 1)


@given(of=st.integers(1, 9), start=st.integers(0, 50), n=st.integers(0, 50))
def test_writers_without_a_plan_take_turns(of, start, n) -> None:
    parts = [Process("host", 1).partition(i, of=of).row_numbers(start, n) for i in range(of)]
    together = np.stack(parts, axis=1).reshape(-1)
    assert together.tolist() == list(range(start * of + 1, (start + n) * of + 1))


def test_a_plan_says_which_rows() -> None:
    process = Process("host", 100).partition(1, of=3, planned=np.array([2, 3, 9]))
    assert (process.pid, process.index, process.of) == (101, 1, 3)
    assert process.row_numbers(0, 3).tolist() == [2, 3, 9]
    assert process.row_numbers(1, 1).tolist() == [3]
    with pytest.raises(ValueError, match=r"^the plan gives this writer 3 rows, not 4$"):
        process.row_numbers(2, 2)


@pytest.mark.parametrize("index", [-1, 3, 4])
def test_no_writer_beyond_the_last(index) -> None:
    with pytest.raises(ValueError, match=f"^writer {index} of 3: the first is 0, the last 2$"):
        Process("host", 1).partition(index, of=3)
