"""The pages that rows touch, as a b-tree's kernels note them while rows are inserted, some thousands of rows at a time.

A row's record is a row of numbers: its pages from the leaf up to the root, `ROOT`, what happened then (one of the words
below, with its numbers, each), and `END`. `END` alone is the record of a row that just fits the leaf of the row before,
where nothing else happened either. Numbers of pages are those in the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64

Ints = NDArray[Any]

ROOT, END, OVERFLOW, DEEPENED, LIFTED, ALONE, SPREAD = range(-1, -8, -1)
"""What is noted: behind a path; behind a record; a page of a long record, and its number; a root that got a child to
which its cells go, and the child's number; a root that took the cells of its only child, and the child's number; a leaf
for the newest row of a rowid table alone, and its number; siblings over which cells are spread: the place of the one
that has changed, how many they were, how many they are, their old numbers and their new ones."""

NO_TRACE = np.empty(0, np.int32)
_AT = 0
"""The element that says where the next number goes."""
_MARGIN = 512
"""More numbers than a row needs: 20 levels, and 12 numbers for each where cells are spread."""


def new_trace(numbers: int) -> Ints:
    """Room for so many numbers."""
    trace = np.zeros(numbers + _MARGIN, np.int32)
    clear(trace)
    return trace


def clear(trace: Ints) -> None:
    """Forgets all records."""
    trace[_AT] = FIRST


FIRST = 1
"""Where the first record begins."""


@inlined
def note(trace: Ints, number: int) -> None:
    """Adds a number."""
    trace[trace[_AT]] = number
    trace[_AT] += 1


@inlined
def next_place(trace: Ints) -> int:
    """Where the next number goes."""
    return int64(trace[_AT])


@inlined
def go_on_at(trace: Ints, place: int) -> None:
    """Says where the next number goes."""
    trace[_AT] = place


@inlined
def room_for(trace: Ints, overflow: int) -> bool:
    """Whether the record of a row with so many overflow pages fits."""
    return bool(trace[_AT] + _MARGIN + 2 * overflow <= len(trace))
