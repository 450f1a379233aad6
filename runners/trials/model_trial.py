"""A trial with only a page model, without a server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

import keybench
from keybench.databases.registry import engine
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.store.records import Environment
from keybench.runners.measuring import shards
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.measuring.measured import Measurements
from keybench.runners.planning.trial_tables import trial_tables
from keybench.runners.trials.load_cost import load_cost
from keybench.runners.trials.prediction import alone, placement
from keybench.runners.trials.trial import TrialRunner

NOT_MODELLED = tuple(metric for metric in Metric if metric.definition.needs_server)
WHY_NOT = "A page model inserts no rows: it has pages, but no time, no log and no files."


def environment(database: str, server: str, settings: Mapping[str, str]) -> Environment:
    """What computed the figures of trials without a server, and the settings that the user chose."""
    versions = {"keybench": keybench.__version__, "numba": version("numba"), "numpy": version("numpy")}
    return Environment(database, server, versions, settings, 0)


class ModelTrial(TrialRunner):
    """The same keys in their planned order, inserted into the page model."""

    def measure(self) -> Measurements:
        """Makes the keys and predicts. There is nothing to verify."""
        on = engine(self.plan.database)
        arrived = [Arrived.as_planned(one) for one in trial_tables(self.request, self.plan)]
        predicted = [alone(on, one) for one in arrived]
        readings = shards.together([one.readings for one in predicted])
        placed, costs = placement(self.request, self.plan, arrived, readings), load_cost(on, self.request, arrived[0])
        given = {reading.metric for reading in costs.readings}
        absent = Reading.absent([metric for metric in NOT_MODELLED if metric not in given], WHY_NOT)
        pictured = (*shards.drawn(predicted), placed, costs)
        return Measurements(
            [*readings, *costs.readings, *absent, *placed.readings],
            [line for one in pictured for line in one.series],
            [blob for one in pictured for blob in one.blobs],
        )
