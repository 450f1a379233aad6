"""A trial in which a cluster's ranges take the keys, without a server: `--server ranges`.

The database gives the order and the width of the key's column; nothing else of it matters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.model.byteorder import sort_words
from keybench.model.metric import Metric
from keybench.model.names import RANGES_SERVER
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject
from keybench.pagemodels.ranges.model import RangeStats, replay, rows_by_time
from keybench.pagemodels.ranges.rule import SplitRule
from keybench.pagemodels.ranges.vendors import RULES, SCALED, rule
from keybench.pagemodels.ranking import ranked
from keybench.results.store import blobs
from keybench.runners.measuring.measured import Measured
from keybench.runners.planning.trial_plan import Request
from keybench.runners.planning.trial_tables import TrialTable, trial_tables
from keybench.runners.trials.trial import Trial


def check(request: Request) -> None:
    """UsageError for a scenario that is not about one table that only grows."""
    if RANGES_SERVER not in request.servers.values():
        return
    scenario, about = request.scenario, f"scenario {request.scenario.name}"
    problems = {
        "has an index with a past": bool(scenario.phase),
        "divides its rows among tables": scenario.table.shards > 1,
        "has a foreign key": scenario.table.key == "fk",
        "deletes and refills": bool(scenario.after.refill),
    }
    for problem, found in problems.items():
        if found:
            raise UsageError(
                f"{about} {problem}, and --server ranges knows one table that only grows: choose another scenario or "
                "another server."
            )


class RangesTrial(Trial):
    """The keys in their planned order go to ranges, once by the rule of each vendor."""

    def measure(self) -> Measured:
        """Makes the keys and divides them."""
        (table,) = trial_tables(self.request, self.plan)
        column = table.table.column
        ranks = ranked(sort_words(table.keys, column.order))
        payload = self.plan.lengths.mean if self.plan.lengths else self.plan.payload
        row_bytes = float(column.width + payload)
        moments = arrivals(table)
        rules = of_database(engine(self.plan.database))
        of_rules = {of: replay(ranks, moments, row_bytes, of, self.request.seed) for of in rules}
        readings = [reading for of, stats in of_rules.items() for reading in _readings(of, stats)]
        seconds = float(moments[-1] - moments[0]) / TICKS_PER_SECOND
        return Measured(readings, blobs=[blobs.ranges(rows_by_time(ranks, moments, of_rules[SCALED].firsts), seconds)])


def of_database(on: Engine) -> Sequence[SplitRule]:
    """The rules by which its tables split; those of all vendors if it is no cluster and only gives the column."""
    own = [rule(name) for name in on.range_rules]
    return [SCALED, *own] if own else RULES


def arrivals(table: TrialTable) -> NDArray[np.int64]:
    """When each row arrives, in planned order: ticks of the scenario."""
    moments = np.empty(len(table.keys), np.int64)
    for source in table.sources:
        moments[source.planned[: source.writer.rows] - 1] = source.writer.arrivals[: source.writer.rows]
    return moments


def _readings(of: SplitRule, stats: RangeStats) -> list[Reading]:
    subject = KEY if of is SCALED else Subject.rule(of.name)
    values = {
        Metric.RANGES: len(stats.counts),
        Metric.HOTTEST_RANGE_SHARE: 100 * stats.hottest,
        Metric.RANGES_WRITTEN: stats.written,
        Metric.RANGE_TAKEOVERS: stats.takeovers,
        Metric.RANGE_SIZE_SPLITS: stats.size_splits,
        Metric.RANGE_LOAD_SPLITS: stats.load_splits,
    }
    return [Reading(metric, float(value), "modelled", subject=subject) for metric, value in values.items()]
