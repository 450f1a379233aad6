"""The table of a trial, and the writers whose rows go into it."""

from collections.abc import Sequence
from dataclasses import dataclass
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
    """The table of a trial, and the sources of its writers' keys."""

    table: Table
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
        # all sources have the same seed; planned numbers begin with 1, those of `PayloadLengths.of` with 0
        return lengths.of(self.sources[0].seed, np.sort(_numbers(self.sources)) - 1) if lengths else None


def trial_table(request: Request, trial: TrialPlan) -> TrialTable:
    """The table of a trial with its writers."""
    return TrialTable(trial.table(request.scenario), key_sources(request, trial))


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
