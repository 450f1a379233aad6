"""The page model's prediction, beside a server or in a trial without one, and where keys went.

A page model knows pages, not time: it inserts the same keys in the same order by the rules of the engine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version

import keybench
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import ServerError, UsageError, unexpected
from keybench.model.metric import KINDS_OF_SPLITS, Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL
from keybench.pagemodels.contract import PageModel, SizedByValue, predict
from keybench.pagemodels.page_stats import PageStats, readings
from keybench.results.store import blobs
from keybench.results.store.records import Environment
from keybench.runners.measuring import key_positions
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.measuring.measured import Measurements
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import trial_table
from keybench.runners.trials.load_cost import load_cost
from keybench.runners.trials.trial import TrialRunner

_SAME_INDEX = (Metric.LEAF_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
"""Metrics that must be equal before the numbers of splits by kind are taken from the model."""


def predicted_alone(on: Engine, arrived: Arrived) -> Measurements:
    """The page model's prediction of the table, without a server. Raises UsageError if the model refuses the table."""
    stats = page_stats(on.page_model(arrived.table.table), arrived)
    pages = blobs.page_map(stats.page_numbers, stats.page_rows, "modelled")
    return Measurements([*readings(stats), *_other_indexes(on, arrived)], blobs=[pages])


def predicted_beside(on: Engine, arrived: Arrived, measured: Iterable[Reading]) -> Measurements:
    """The measurements of the table, and the page model's prediction.

    If the model reproduces exactly the index that was measured, it provides the kinds of splits that the server does
    not count: derived readings then replace the measured ones that are absent.
    """
    measured = list(measured)

    def predict_too() -> Measurements:
        stats, note = page_stats(on.page_model(arrived.table.table), arrived), arrived.order.note
        all_readings = _with_kinds_of_splits(measured, stats) + readings(stats, MODEL, note)
        pages = blobs.page_map(stats.page_numbers, stats.page_rows, "modelled", note)
        return Measurements(all_readings, blobs=[pages])

    return measured_whatever_a_model_does(measured, predict_too)


def measured_whatever_a_model_does(
    measured: Sequence[Reading], predict_too: Callable[[], Measurements]
) -> Measurements:
    """What `predict_too` gives; if it fails, what was measured and the reason why there is no prediction."""
    try:
        return predict_too()
    except Exception as error:
        problem = error if isinstance(error, UsageError) else unexpected(error)
        return Measurements([*measured, no_prediction(problem)], traceback=problem.traceback)


def no_prediction(problem: UsageError | ServerError) -> Reading:
    """The reading that stands in place of the model's leaf pages, with the reason."""
    return Reading(Metric.LEAF_PAGES, None, "absent", f"No prediction: {problem}", MODEL)


def placement(arrived: Arrived, pages_known: Iterable[Reading]) -> Measurements:
    """Where the keys went. `pages_known`: readings that have the number of leaf pages, measured or else predicted."""
    pages = {r.subject: r.value for r in pages_known if r.metric == Metric.LEAF_PAGES and r.subject in (KEY, MODEL)}
    leaf_pages = pages.get(KEY) or pages.get(MODEL)
    return key_positions.readings(arrived, len(arrived.table.keys) / leaf_pages if leaf_pages else None)


_REHEARSED = 2_000
"""Rows of a rehearsal: enough for pages above the leaves."""


def rehearse(request: Request, trials: Iterable[TrialPlan]) -> None:
    """Predicts small loads like these trials', to compile what predictions need. Trials report what a model refuses."""
    for trial in trials:
        small_trial = replace(trial, rows=min(trial.rows, _REHEARSED))
        arrived = Arrived.as_planned(trial_table(request, small_trial))
        with suppress(UsageError):
            predicted = page_stats(engine(trial.database).page_model(arrived.table.table), arrived)
            key_positions.readings(arrived, small_trial.rows / predicted.leaf_pages)


def page_stats(model: PageModel | SizedByValue, arrived: Arrived) -> PageStats:
    """The pages that the model makes of the table's rows, in their order of arrival. UsageError if it refuses them."""
    column, created = arrived.table.table.column, arrived.created()
    lengths, parents = arrived.lengths(), arrived.parents()
    return predict(model, column, arrived.keys(), created=created, parents=parents, lengths=lengths)


def _other_indexes(on: Engine, arrived: Arrived) -> list[Reading]:
    """The model's readings of the table's other indexes; absent, with the reason, where there is no model of one."""
    other = []
    for subject, table in arrived.table.table.other_indexes.items():
        try:
            other += readings(page_stats(on.page_model(table), arrived), subject)
        except UsageError as error:
            other.append(Reading(Metric.LEAF_PAGES, None, "absent", str(error), subject))
    return other


def _with_kinds_of_splits(measured: Sequence[Reading], stats: PageStats) -> list[Reading]:
    """The measured readings, with the model's splits where the server counts none and both have the same index."""
    values = {reading.metric: reading.value for reading in measured}
    modelled = {reading.metric: reading for reading in readings(stats, origin="derived")}
    if not all(_equal(values.get(metric), modelled[metric].value) for metric in _SAME_INDEX):
        return list(measured)
    uncounted = [metric for metric in KINDS_OF_SPLITS if values.get(metric) is None]
    counted = [reading for reading in measured if reading.metric not in uncounted]
    return counted + [modelled[metric] for metric in uncounted]


def _equal(real: float | None, predicted: float | None) -> bool:
    """Whether both values are known and equal, apart from rounding."""
    return real is not None and predicted is not None and abs(real - predicted) < 1e-6


NOT_MODELLED = tuple(metric for metric in Metric if metric.definition.needs_server)
"""Metrics that a trial without a server cannot have, and why."""
WHY_NOT = "A page model inserts no rows: it has pages, but no time, no log and no files."


def model_environment(database: str, server: str, settings: Mapping[str, str]) -> Environment:
    """What computed the figures of trials without a server, and the settings that the user chose."""
    versions = {"keybench": keybench.__version__, "numba": version("numba"), "numpy": version("numpy")}
    return Environment(database, server, versions, settings, cache_bytes=0)


class ModelTrial(TrialRunner):
    """The same keys in their planned order, inserted into the page model."""

    def measure(self) -> Measurements:
        """Makes the keys and predicts. There is nothing to verify."""
        on = engine(self.plan.database)
        arrived = Arrived.as_planned(trial_table(self.request, self.plan))
        predicted = predicted_alone(on, arrived)
        placed, costs = placement(arrived, predicted.readings), load_cost(on, self.request, arrived)
        modelled = {reading.metric for reading in costs.readings}
        absent = Reading.absent([metric for metric in NOT_MODELLED if metric not in modelled], WHY_NOT)
        all_readings = [*predicted.readings, *costs.readings, *absent, *placed.readings]
        return Measurements(all_readings, blobs=[*predicted.blobs, *placed.blobs, *costs.blobs])
