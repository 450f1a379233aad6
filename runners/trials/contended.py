"""Trials about what writers do to one another: isolation levels, look-ups before inserts, and waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.pagemodels.predict import predict
from keybench.pagemodels.ranking import ranked
from keybench.runners.measuring import contention, key_positions, shards
from keybench.runners.measuring.arrival_order import Arrived, Recorder
from keybench.runners.measuring.measured import Measurements
from keybench.runners.trials.server_trial import ServerTrial

NO_PREDICTION: Final = (
    "No prediction: trials about what writers do to one another do not recover the order in which rows arrive."
)
NO_POSITION: Final = "Not known in trials about what writers do to one another."


class ContendedTrial(ServerTrial):
    """A trial whose writers are watched while they send."""

    def recorders(self, admin: object) -> list[Recorder]:  # noqa: ARG002
        """None: rows that were rolled back would be in what they record."""
        return []

    def predict(
        self,
        on: Engine,
        of_tables: Sequence[Sequence[Reading]],
        arrived: Sequence[Arrived],  # noqa: ARG002 (not recovered)
    ) -> Measurements:
        """What was measured, and how often transactions meet on a leaf."""
        unknown = Reading(Metric.LEAF_PAGES, None, "absent", NO_PREDICTION, MODEL)
        positions = key_positions.absent(NO_POSITION)
        return Measurements([*shards.together(of_tables), self._meetings(on), unknown, *positions])

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
