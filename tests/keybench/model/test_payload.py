"""The text beside the key."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.model.payload import Payload

CYCLE = 4096


@pytest.mark.parametrize("width", [0, 1, 100, 1000])
def test_texts_and_rows_have_the_same_letters(width: int) -> None:
    payload = Payload(width)
    rows = payload.rows(0, CYCLE)
    assert rows.shape == (CYCLE, width)
    assert rows.dtype == np.uint8
    assert [row.tobytes().decode("ascii") for row in rows] == list(payload.texts)
    assert {len(text) for text in payload.texts} == {width}


def test_rows_are_letters_and_distinct_in_a_cycle() -> None:
    rows = Payload(100).rows(0, CYCLE)
    assert rows.min() == ord("a")
    assert rows.max() == ord("z")
    assert len(set(Payload(100).texts)) == CYCLE


@given(start=st.integers(0, 10**9), n=st.integers(0, 3 * CYCLE))
def test_a_row_depends_on_its_number_alone(start: int, n: int) -> None:
    payload = Payload(3)
    rows = payload.rows(start, n)
    assert rows.shape == (n, 3)
    assert (rows == payload.pool[(start + np.arange(n)) % CYCLE]).all()
    half = n // 2
    assert (np.concatenate([payload.rows(start, half), payload.rows(start + half, n - half)]) == rows).all()


def test_other_processes_make_the_same_rows() -> None:
    code = "from keybench.model.payload import Payload; print(*Payload(20).texts[:5])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.split() == list(Payload(20).texts[:5])


def test_a_cycle_is_made_once() -> None:
    payload = Payload(10)
    assert payload.texts is payload.texts
    assert payload.pool is payload.pool
