"""Trials about what writers do to one another: isolation levels, look-ups before inserts, and waits."""

from __future__ import annotations

import time
from typing import Final

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.model.transactions import TransactionStyle
from keybench.pagemodels.predict import predict
from keybench.pagemodels.ranking import ranked
from keybench.runners.measuring import contention, key_positions, shards
from keybench.runners.measuring.arrival_order import Recorder
from keybench.runners.measuring.measured import Measured
from keybench.runners.planning.trial_server import Target
from keybench.runners.trials.server_trial import FinishedLoad, ServerTrial
from keybench.runners.writers.load import LoadResult, load_rows

FILL_ROWS: Final = 1000
"""Rows of a transaction that fills the table before."""

NO_PREDICTION: Final = (
    "No prediction: trials about what writers do to one another do not recover the order in which rows arrive."
)
NO_POSITION: Final = "Not known in trials about what writers do to one another."


class ContendedTrial(ServerTrial):
    """A trial whose writers are watched while they send. The rows that fill the table before are not timed."""

    def insert(self, target: Target) -> LoadResult:
        """Fills the table, then sends the other rows in transactions of the scenario's style."""
        load = self.request.scenario.load
        if load.filled:
            self._send(target, (0.0, load.filled), FILL_ROWS, None)
        with contention.watch(self.admin, self.tables[0].table, load.watched) as watched:
            result = self._send(target, (load.filled, 1.0), load.rows_per_tx, load.style, watched)
        self.of_writers = watched.readings() if watched else []
        return result

    def _send(
        self,
        target: Target,
        part: tuple[float, float],
        rows_per_tx: int,
        style: TransactionStyle | None,
        watched: contention.Watch | None = None,
    ) -> LoadResult:
        begin, end = (sum(int(one.writer.rows * share) for one in self.sources) for share in part)

        def progress(rows: int) -> None:
            self.resources.progress(begin + rows)
            if watched:
                watched.sent(rows, end - begin)

        return load_rows(
            target.address,
            self.tables[0].table,
            self.sources,
            rows_per_tx=rows_per_tx,
            skew_rows=self.request.scenario.load.skew_rows,
            timeout=self.deadline - time.monotonic(),
            part=part,
            style=style,
            path=self.path,
            pool=self.resources.pool,
            progress=progress,
        )

    def recorders(self, admin: object) -> list[Recorder]:  # noqa: ARG002
        """None: rows that were rolled back would be in what they record."""
        return []

    def predict(self, on: Engine, load: FinishedLoad) -> Measured:
        """What was measured, and how often transactions meet on a leaf."""
        unknown = Reading(Metric.LEAF_PAGES, None, "absent", NO_PREDICTION, MODEL)
        positions = key_positions.absent(NO_POSITION)
        return Measured([*shards.together(load.of_tables), *self.of_writers, self._meetings(on), unknown, *positions])

    def _meetings(self, on: Engine) -> Reading:
        (one,), load = self.tables, self.request.scenario.load
        try:
            stats = predict(
                on.page_model(one.table), one.table.column, one.keys, created=one.created(), lengths=one.lengths()
            )
        except UsageError as error:
            return Reading(Metric.SAME_LEAF, None, "absent", f"No prediction: {error}")
        ranks = ranked(sort_words(one.keys, one.table.column.order))
        late = ranks[int(len(ranks) * load.filled) :]
        share = contention.share_on_same_leaf(late, stats.page_rows, load.rows_per_tx, len(self.sources))
        return Reading(Metric.SAME_LEAF, share, "modelled")
