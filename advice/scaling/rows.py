"""The keys of chosen rows of a load, in order of arrival, without those in between.

Rows arrive at even intervals and writers take turns. A part of a load is every writer's every `step`th row from some
row on, so that a part of any length can be made at any place of a load of any length: layouts that read the clock are
shown the clock of those rows, counting ones are told their numbers.

Two kinds of generators have a state that the rows in between would have moved on. A counter within a clock tick starts
anew, as it does at each tick anyway. A generator that reads the clock once and counts from there (EF Core's) is given
the reading that its count would have reached; where a part leaves out rows, all of its lengths shrink by `step`, the
time between the starts of two writers too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keybench.advice.index_forecast import Growth
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_SECOND, VirtualClock, ticks_of
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, Stream, layout
from keybench.generators.core.process import Process
from keybench.model.byteorder import sort_words
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.pagemodels.ranking import ranked

Ints = NDArray[np.int64]

START = ticks_of(datetime(2026, 1, 5, tzinfo=UTC))
"""When a load begins: a Monday."""


@dataclass(frozen=True)
class Part:
    """Some rows of a load: `rows` of them from row `first` on, each writer's every `step`th."""

    first: int
    rows: int
    step: int = 1


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in order of arrival."""

    keys: Keys
    words: NDArray[np.uint64]
    """(n, w): their sort words in the column."""
    writers: NDArray[np.int16]

    @cached_property
    def ranks(self) -> Ints:
        """(n,): the ranks of the keys among themselves. UsageError where two keys are the same."""
        return ranked(self.words)


def rows_of(name: str, column: Column, growth: Growth, part: Part, seed: int) -> Rows:
    """The rows of a part. UsageError from layouts whose keys do not reach that far."""
    made, of = layout(name), growth.writers
    place = np.arange(part.rows, dtype=np.int64)
    writers = place % of
    own = part.first // of + place // of * part.step  # the number of each row among its writer's rows
    numbers = own * of + writers
    ticks = (numbers * (TICKS_PER_SECOND / growth.rows_per_second)).astype(np.int64)
    if made.one_counter or of == 1:
        groups = [
            (0, np.zeros(len(place), np.int64) if made.one_counter else _processes(made, growth, 0, ticks), place)
        ]
    else:
        chosen = [np.flatnonzero(writers == i) for i in range(of)]
        groups = [(i, _processes(made, growth, i, ticks[rows]), rows) for i, rows in enumerate(chosen)]
    pieces, places = [], []
    for i, processes, rows in groups:
        for process, begin, end in _runs(processes):
            rows_here = rows[begin:end]
            stream = _stream(
                made, growth, (i, process), own[rows_here], numbers[rows_here], ticks[rows_here], part, seed
            )
            pieces.append(stream.take(len(rows_here)))
            places.append(rows_here)
    keys = pieces[0]
    if len(pieces) > 1:
        made_at = np.empty(len(place), np.int64)
        made_at[np.concatenate(places)] = place
        keys = Keys.concat(pieces)[made_at]
    keys = _moved(made, part, of, keys)
    return Rows(keys, sort_words(keys, column.order), writers.astype(np.int16))


def _moved(made: Layout, part: Part, of: int, keys: Keys) -> Keys:
    """Integers that each stream counts from 1, moved up to where the part begins: large numbers can take more bytes."""
    if keys.kind != "int" or made.reads_clock != "never" or not len(keys) or keys.data.min() > part.first // 2:
        return keys
    whole = of * 1000  # whole blocks of every writer
    return Keys(keys.data + part.first // whole * whole, "int")


def behind_ticks(growth: Growth, writer: int) -> int:
    """How far a writer's clock is behind the first one's; the last writer is the slowest."""
    return round(growth.behind_seconds * TICKS_PER_SECOND * writer / max(1, growth.writers - 1))


def _processes(made: Layout, growth: Growth, writer: int, ticks: Ints) -> Ints:
    """The number of the writer's process that makes each row. Writers restart in turns, at even intervals."""
    if not growth.restarts_per_day or made.reads_clock == "never":
        return np.zeros(len(ticks), np.int64)
    between = TICKS_PER_DAY / growth.restarts_per_day
    return ((ticks + between * (writer + 1) / growth.writers) // between).astype(np.int64)


def _runs(processes: Ints) -> Iterator[tuple[int, int, int]]:
    """(process, begin, end) of each run."""
    if len(processes):
        edges = [0, *(np.flatnonzero(np.diff(processes)) + 1).tolist(), len(processes)]
        for begin, end in pairwise(edges):
            yield int(processes[begin]), begin, end


def _stream(
    made: Layout, growth: Growth, which: tuple[int, int], own: Ints, numbers: Ints, ticks: Ints, part: Part, seed: int
) -> Stream:
    """The source of one process's keys."""
    writer, number = which
    of = 1 if made.one_counter else growth.writers
    behind = behind_ticks(growth, writer)
    shown = START - behind + ticks
    process = Process("keybench", 4242 + number * growth.writers).partition(writer, of=of, planned=numbers + 1)
    entropy = AesEntropy.seeded(seed, part.first, part.step, made.name, number).partition(writer, of=of)
    start = None
    if made.reads_clock == "at construction":
        start = _counted_from(growth, which, int(own[0]), behind, part.step)
    return made.stream(process, VirtualClock(shown, start=start), entropy)


def _counted_from(growth: Growth, which: tuple[int, int], first: int, behind: int, step: int) -> int:
    """The reading from which a process that counts its keys has come to its row `first`."""
    writer, number = which
    per_row = TICKS_PER_SECOND / growth.rows_per_second
    began = writer * per_row  # its first turn
    if number:
        between = TICKS_PER_DAY / growth.restarts_per_day
        began = max(began, between * (number - (writer + 1) / growth.writers))
    before = first - max(0.0, np.ceil((began / per_row - writer) / growth.writers))
    return START + int((began - behind + before) / step)  # START is too large for a float
