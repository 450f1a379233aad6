"""The tables of a trial: one table, or several among which rows are divided by their shard keys.

An application that routes rows by region does the same: a row goes to the table of its writer's shard, or of its own.
A writer whose rows have different shards appears once for each table (`key_sources`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.ranking import ranked
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan


@dataclass(frozen=True, eq=False)
class TrialTable:
    """One table of a trial, and the writers whose rows go into it."""

    table: Table
    writers: tuple[int, ...]
    """Their indices among all writers of the trial."""
    sources: tuple[KeySource, ...]

    @cached_property
    def keys(self) -> Keys:
        """The keys in planned order."""
        return keys_in_order(self.sources)

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The keys' ranks in the column's order, from 0, in planned order. UsageError if two keys are equal."""
        return ranked(sort_words(self.keys, self.table.column.order))

    def created(self) -> NDArray[np.int64] | None:
        """When rows were created (microseconds since 1970), in planned order; None if the table has no such time."""
        if not self.table.by_date:
            return None
        moments = np.concatenate([source.created() for source in self.sources])
        return moments[np.argsort(_numbers(self.sources))]

    def lengths(self) -> NDArray[np.int64] | None:
        """Characters of the rows' payloads, in planned order; None if all rows have the same."""
        lengths = self.table.lengths
        return lengths.of(self.sources[0].seed, np.sort(_numbers(self.sources)) - 1) if lengths else None


def trial_tables(request: Request, trial: TrialPlan) -> tuple[TrialTable, ...]:
    """The tables of a trial with their writers."""
    return divide(trial.table(request.scenario), key_sources(request, trial), request.scenario.table.shards)


def divide(table: Table, sources: Sequence[KeySource], count: int) -> tuple[TrialTable, ...]:
    """`count` tables of a trial; number i (from 0) takes the rows of the sources with shard % count == i."""
    if count == 1:
        return (TrialTable(table, tuple(range(len(sources))), tuple(sources)),)
    tables = []
    for number in range(count):
        writers = tuple(i for i, source in enumerate(sources) if source.writer.shard % count == number)
        named = replace(table, name=f"{table.name}_{number + 1}")
        tables.append(TrialTable(named, writers, tuple(sources[i] for i in writers)))
    return tuple(tables)


def table_of_each_writer(tables: Sequence[TrialTable]) -> list[Table]:
    """The table of each writer, in the order of all writers."""
    by_writer = {writer: one.table for one in tables for writer in one.writers}
    return [by_writer[writer] for writer in sorted(by_writer)]


def keys_in_order(sources: Sequence[KeySource]) -> Keys:
    """The keys of these sources in planned order."""
    keys = [source.stream().take(source.writer.rows) for source in sources]
    if len(keys) == 1:  # one writer's rows are numbered in order
        return keys[0]
    # A stable sort is fast here: it merges runs that are already sorted.
    return Keys.concat(keys)[np.argsort(_numbers(sources), kind="stable")]


def writers_in_order(sources: Sequence[KeySource]) -> NDArray[np.int16]:
    """For each row, in planned order, the index of its source among `sources`."""
    owners = np.repeat(np.arange(len(sources), dtype=np.int16), [source.writer.rows for source in sources])
    return owners[np.argsort(_numbers(sources))]


def _numbers(sources: Sequence[KeySource]) -> NDArray[np.int64]:
    """The planned numbers (from 1) of all rows, source after source."""
    return np.concatenate([source.planned for source in sources])
