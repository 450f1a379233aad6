"""The page models in a run: trials without a server, and the prediction that every trial on a server is held against.

A model knows pages, not time: it inserts the same keys in the same order of arrival into the rules of the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

import keybench
from keybench.databases.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.names import MODEL_SERVER
from keybench.model.reading import Reading, Series
from keybench.model.subject import MODEL, Subject
from keybench.model.table import Table
from keybench.pagemodels.predict import predict
from keybench.pagemodels.stats import PageStats, readings
from keybench.results.store import blobs
from keybench.results.store.blobs import Blob
from keybench.results.store.store import Environment, Trial
from keybench.runners.measuring import grid, position
from keybench.runners.planning import shards
from keybench.runners.planning.plan import Request, TrialPlan
from keybench.runners.planning.sources import created_in_order, key_sources
from keybench.runners.trials.after import keys_in_order
from keybench.runners.trials.attempt import Measured, attempt

_CHECKPOINTS = 100
_SPLITS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
_SAME_INDEX = (Metric.LEAF_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
"""What must be equal before kinds of splits that a server does not count are taken from its model."""
_NEED_SERVER = tuple(metric for metric in Metric if metric.definition.needs_server)
_WHY_SERVER = "A page model inserts no rows: it has pages, but no time, no log and no files."


def environment(database: str) -> Environment:
    """What computed the figures of trials without a server."""
    versions = {"keybench": keybench.__version__, "numba": version("numba"), "numpy": version("numpy")}
    return Environment(database, MODEL_SERVER, versions, {}, 0)


def run_trial(request: Request, trial: TrialPlan) -> Trial:
    """A trial through the page model alone; whatever goes wrong is its error."""
    ended = attempt(request, trial, lambda: _measure(request, trial))
    return replace(ended, server=MODEL_SERVER)


def _measure(request: Request, trial: TrialPlan) -> Measured:
    on, table = engine(trial.database), trial.table(request.scenario)
    if table.made:
        raise UsageError(f"{trial.layout} keys are made by a server, and a page model has none: leave the layout out.")
    sources = key_sources(request, trial)
    parts = shards.deal(table, sources, request.scenario.table.shards)
    if len(parts) > 1:
        return Measured(_sharded(on, parts), [], [])
    keys = keys_in_order(sources)
    created = created_in_order(sources) if table.dated else None
    stats = predict(on.page_model(table), table.column, keys, _checkpoints(len(keys)), created=created)
    absent = Reading.absent(_NEED_SERVER, _WHY_SERVER)
    where = position.readings(sources, table.column, keys, np.arange(len(keys)), len(keys) / max(1, stats.leaf_pages))
    return Measured(
        [
            *readings(stats),
            *_others(on, table, keys),
            *absent,
            *where.readings,
            *_variants(on, table, keys, ""),
            *grid.readings(request, trial),
        ],
        [*_series(stats), *where.series],
        [*_blobs(stats, ""), *where.blobs],
    )


def _sharded(on: Engine, parts: Sequence[shards.Shard]) -> list[Reading]:
    """The readings of rows in several tables, in planned order."""
    found = []
    for part in parts:
        keys = keys_in_order(part.sources)
        created = created_in_order(part.sources) if part.table.dated else None
        stats = predict(on.page_model(part.table), part.table.column, keys, created=created)
        found.append([*readings(stats), *_others(on, part.table, keys), *_variants(on, part.table, keys, "")])
    absent = Reading.absent(_NEED_SERVER, _WHY_SERVER)
    return [*shards.together(found), *absent, *position.absent(shards.NO_POSITION)]


def _others(on: Engine, table: Table, keys: Keys) -> list[Reading]:
    """What else the table has, as far as there are models of it."""
    found = []
    for of, other in table.others.items():
        try:
            found += readings(predict(on.page_model(other), other.column, keys), of)
        except UsageError as error:
            found.append(Reading(Metric.LEAF_PAGES, None, "absent", str(error), of))
    return found


def _checkpoints(rows: int) -> list[int]:
    places = np.unique(np.linspace(0, rows, _CHECKPOINTS + 1)[1:].astype(np.int64)).tolist()
    return [place for place in places if place]


def beside(
    on: Engine,
    table: Table,
    keys: Keys,
    note: str,
    measured: Iterable[Reading],
    created: NDArray[np.int64] | None = None,
) -> Measured:
    """What the page model says of keys in order of arrival; `note` says what that order is where it is in doubt.

    `created`: when their rows were created, of a table by date.

    Where it has the very index that was measured, the kinds of splits that this server does not tell are derived from
    it: they then stand in place of the measured ones that are absent.
    """
    measured = list(measured)
    try:
        stats = predict(on.page_model(table), table.column, keys, _checkpoints(len(keys)), created=created)
        predicted = readings(stats, MODEL, note) + _variants(on, table, keys, note)
    except Exception as error:  # what was measured stands, whatever a model does
        kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
        return Measured([*measured, Reading(Metric.LEAF_PAGES, None, "absent", f"No prediction: {kind}{error}", MODEL)])
    return Measured(_with_kinds(measured, stats) + predicted, (), _blobs(stats, note))


def _blobs(stats: PageStats, note: str) -> list[Blob]:
    """The leaf level along the load, and the finished one's page map."""
    along = stats.checkpoints
    return [
        blobs.page_map(stats.page_numbers, stats.page_rows, "modelled", note),
        blobs.growth(
            [point.rows for point in along],
            [point.leaf_pages for point in along],
            [point.interior_splits for point in along],
            [point.density for point in along],
            note,
        ),
    ]


def _variants(on: Engine, table: Table, keys: Keys, note: str) -> list[Reading]:
    """What the model says with parameters that no live server has confirmed or refuted."""
    found = []
    for name, parameters in on.model_variants.items():
        stats = predict(on.page_model(table, **parameters), table.column, keys)
        found += readings(stats, Subject.model(name), note)
    return found


def _series(stats: PageStats) -> list[Series]:
    rows = np.array([point.rows for point in stats.checkpoints], np.int64)
    return [
        Series(Metric.LEAF_PAGES, rows, np.array([float(point.leaf_pages) for point in stats.checkpoints])),
        Series(Metric.LEAF_DENSITY, rows, np.array([point.density for point in stats.checkpoints])),
        Series(Metric.INTERIOR_SPLITS, rows, np.array([float(point.interior_splits) for point in stats.checkpoints])),
    ]


def _with_kinds(measured: Sequence[Reading], stats: PageStats) -> list[Reading]:
    values = {reading.metric: reading.value for reading in measured}
    model = {reading.metric: reading for reading in readings(stats, origin="derived")}
    if any(values.get(metric) is not None for metric in _SPLITS):
        return list(measured)
    if not all(_equal(values.get(metric), model[metric].value) for metric in _SAME_INDEX):
        return list(measured)
    kept = [reading for reading in measured if reading.metric not in _SPLITS]
    return kept + [model[metric] for metric in _SPLITS]


def _equal(real: float | None, predicted: float | None) -> bool:
    return real is not None and predicted is not None and abs(real - predicted) < 1e-6
