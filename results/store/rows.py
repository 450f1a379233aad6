"""Reads and writes runs, their environments, and trials.

One trial is written at a time; all trials of a run are read at once, which may be a million values.
"""

import math
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Table, and_, select

import keybench
from keybench.errors import UsageError, shortened
from keybench.model.metric import Metric
from keybench.model.names import MOST_BLOCKS
from keybench.model.reading import Origin, Reading, Series
from keybench.model.subject import KEY, Subject, SubjectKind
from keybench.results.store import tables
from keybench.results.store.blobs import Blob
from keybench.results.store.records import Environment, Run, Trial

_PLAIN_FIELDS: Final = tuple(field.name for field in fields(Trial) if field.name not in {"readings", "series", "blobs"})
_MOST: Final = 1 << 53
"""Above any count of rows, bytes or pages, and exact as a float."""
_RANGES: Final = (
    {"seed": (0, 10**100)}
    | dict.fromkeys(("blocks", "block"), (1, MOST_BLOCKS))
    | dict.fromkeys(("rows", "writers", "rows_per_tx"), (1, _MOST))
)
"""The least and the most of a number, by its field; else from 0 to `_MOST`."""
_ORIGINS: Final = frozenset(get_args(Origin))
_ORDER: Final = {metric: place for place, metric in enumerate(Metric)}
"""The number of each metric, by which readings and series are sorted."""
_Place = tuple[int, bool, str]
"""By which a trial's readings are sorted: the metric's number, False if it is about the key, and the subject."""

RETIRED_METRICS: Final = frozenset(
    {"ranges", "hottest_range_share", "ranges_written", "range_takeovers", "range_size_splits", "range_load_splits"}
    | {"delete_seconds", "refill_seconds", "refilled_index_bytes", "fronts", "displacement", "lag_rows", "lag_seconds"}
    | {"heap_correlation", "most_retries", "predicate_locks", "predicate_leaves", "same_leaf"}
    | {"position_p95", "edge_distance_pages"}
)
_RETIRED_SUBJECTS, _RETIRED_BLOB = frozenset({"rule", "grid", "shard"}), "ranges: model"
"""What runs up to keybench 0.1 recorded: of clusters, after a refill, over all writers, of grids and shards."""


def _record(kind: type, row: Mapping[Any, Any]) -> dict[str, Any]:
    """The values of a stored row for the fields of a record of this `kind`. Raises ValueError for a value that the
    field cannot have: SQLite stores any value in any column, and a file may come from a broken disk."""
    values = {}
    for name, hint in _hints(kind).items():
        if name not in row:  # readings, series and pictures' data are in other tables
            continue
        value = values[name] = row[name]
        generic = get_origin(hint)  # `Mapping` of `Mapping[str, str]`, None of `str`
        fits = value in get_args(hint) if generic is Literal else isinstance(value, generic or hint)
        if fits and isinstance(value, int | float):
            least, most = _RANGES.get(name, (0, _MOST))
            fits = least <= value <= most  # NaN is in no range
        if not fits:
            raise ValueError(f"its {name} is {shortened(value)}")
    return values


_hints = cache(get_type_hints)


def load_run(connection: Connection, run_id: str) -> Run:
    """The run. Raises ValueError if one of its values cannot be that of a run."""
    row = connection.execute(select(tables.run).where(tables.run.c.id == run_id)).mappings().one()
    return Run(**_record(Run, row))


def environments(connection: Connection, run_id: str) -> list[Environment]:
    """The environments of a run, by database and server. Raises ValueError if a value cannot be that of one."""
    table = tables.environment
    query = select(table).where(table.c.run == run_id).order_by(table.c.database, table.c.server)
    stored = [Environment(**_record(Environment, row)) for row in connection.execute(query).mappings()]
    return [replace(one, versions=_texts(one.versions), settings=_texts(one.settings)) for one in stored]


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    """The values as texts, which they are unless the file is damaged."""
    return {name: str(value) for name, value in values.items()}


def insert_trial(connection: Connection, run_id: str, trial: Trial) -> None:
    """Writes a trial with all its measurements, and its block if this is the block's first trial."""
    block, block_key = tables.block, {"run": run_id, "number": trial.block}
    same = and_(block.c.run == run_id, block.c.number == trial.block)
    if connection.execute(select(block.c.number).where(same)).first() is None:
        connection.execute(block.insert().values(**block_key, started=trial.started))
    plain = {name: getattr(trial, name) for name in _PLAIN_FIELDS} | {"traceback": trial.traceback or None}
    new_key = connection.execute(tables.trial.insert().values(run=run_id, **plain)).inserted_primary_key
    trial_id = new_key[0] if new_key else None  # by which the other tables refer to it
    if values := [_value_row(trial_id, reading) for reading in trial.readings]:
        connection.execute(tables.value.insert(), values)
    if series := [_series_row(trial_id, line) for line in trial.series]:
        connection.execute(tables.series.insert(), series)
    if blobs := [{"trial": trial_id, "kind": blob.kind, "content": blob.content} for blob in trial.blobs]:
        connection.execute(tables.blob.insert(), blobs)


def load_trials(connection: Connection, run_id: str, where: str, *, blobs: bool) -> list[Trial]:
    """Every trial of a run, sorted by block and position; readings in the order of Metric, the key's before a model's.

    What keybench no longer measures is left out: it must not make an older file unreadable.
    Raises ValueError for a value that cannot be a trial's, UsageError for a name of a newer keybench; `where` names the
    database in its message.
    """
    trial = tables.trial
    query = select(trial).where(trial.c.run == run_id).order_by(trial.c.block, trial.c.position)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    readings, series = _readings(connection, run_id, where), _series(connection, run_id, where)
    blobs_by_trial = _blobs(connection, run_id) if blobs else defaultdict(tuple)
    trials = []
    for row in rows:
        plain = _record(Trial, row | {"traceback": row["traceback"] or ""})
        number = row["id"]
        trials.append(Trial(**plain, readings=readings[number], series=series[number], blobs=blobs_by_trial[number]))
    return trials


def _rows_of(connection: Connection, table: Table, run_id: str) -> Sequence[Any]:
    """The rows of the table that belong to trials of the run."""
    return connection.execute(select(table).join(tables.trial).where(tables.trial.c.run == run_id)).all()


def _readings(connection: Connection, run_id: str, where: str) -> defaultdict[int, tuple[Reading, ...]]:
    """Readings by trial number; in the order of Metric, the key's before a model's."""
    # what a row's names mean is looked up once, though the names are on every row
    meanings: dict[tuple[str, str, str], tuple[_Place, Metric, Subject]] = {}
    by_trial: dict[int, list[tuple[_Place, Reading]]] = defaultdict(list)
    for number, metric_name, kind, subject_name, amount, origin, reason in _rows_of(connection, tables.value, run_id):
        key = (metric_name, kind, subject_name)
        if key not in meanings:
            retired_model = kind == SubjectKind.MODEL and subject_name  # today's page models have no name
            if metric_name in RETIRED_METRICS or kind in _RETIRED_SUBJECTS or retired_model:
                continue
            metric, subject = _metric(metric_name, where), _subject(kind, subject_name, where)
            meanings[key] = (_ORDER[metric], subject != KEY, str(subject)), metric, subject
        place, metric, subject = meanings[key]
        # a finite number unless the origin says that it is absent; SQLite would store any type
        fits = amount is None if origin == "absent" else type(amount) is float and math.isfinite(amount)
        if not fits or origin not in _ORIGINS or type(reason) is not str:
            raise ValueError(f"its {metric} is {shortened(amount)}, {shortened(origin)}")
        by_trial[number].append((place, Reading(metric, amount, origin, reason=reason, subject=subject)))
    # No two readings of a trial have the same place, so readings themselves are never compared.
    ordered = {number: tuple(one for _, one in sorted(readings)) for number, readings in by_trial.items()}
    return defaultdict(tuple, ordered)


def _series(connection: Connection, run_id: str, where: str) -> defaultdict[int, tuple[Series, ...]]:
    """Series by trial number; in the order of Metric."""
    series: dict[int, list[Series]] = defaultdict(list)
    for number, name, x, y in _rows_of(connection, tables.series, run_id):
        line = Series(_metric(name, where), _unpacked(x, "<i8"), _unpacked(y, "<f8"))
        if len(line.x) != len(line.y) or not np.isfinite(line.y).all():
            raise ValueError(f"the points of its {name} are no pairs of numbers")
        series[number].append(line)
    ordered = {number: tuple(sorted(lines, key=lambda line: _ORDER[line.metric])) for number, lines in series.items()}
    return defaultdict(tuple, ordered)


def _blobs(connection: Connection, run_id: str) -> defaultdict[int, tuple[Blob, ...]]:
    """Blobs by trial number; sorted by kind."""
    blobs: dict[int, list[Blob]] = defaultdict(list)
    for number, kind, content in _rows_of(connection, tables.blob, run_id):
        if kind != _RETIRED_BLOB:
            blob = Blob(kind, content)
            blob.unpack()  # a damaged one raises now, not in the report
            blobs[number].append(blob)
    ordered = {number: tuple(sorted(of_trial, key=lambda blob: blob.kind)) for number, of_trial in blobs.items()}
    return defaultdict(tuple, ordered)


def _unpacked(content: bytes, dtype: str) -> NDArray[Any]:
    """The array of a series' stored bytes, whose `dtype` is `<i8` or `<f8`."""
    # astype makes a copy in the machine's own byte order (`i8`); an array over bytes would be read-only.
    return np.frombuffer(zlib.decompress(content), dtype).astype(dtype[1:])


def _value_row(trial: int | None, reading: Reading) -> dict[str, Any]:
    """The reading as a row of the table `value`; NaN and infinity become absent, with the reason."""
    if reading.value is not None and not math.isfinite(reading.value):
        why = f"the probe gave {reading.value}, which is not a finite number"
        reading = replace(reading, value=None, origin="absent", reason=why)
    return {
        "trial": trial,
        "metric": reading.metric,
        "subject_kind": reading.subject.kind,
        "subject_name": reading.subject.name,
        "value": reading.value,
        "origin": reading.origin,
        "reason": reading.reason,
    }


def _series_row(trial: int | None, line: Series) -> dict[str, Any]:
    """The series as a row of the table `series`: both arrays little-endian and compressed."""
    x, y = (zlib.compress(np.asarray(array, dtype).tobytes()) for array, dtype in ((line.x, "<i8"), (line.y, "<f8")))
    return {"trial": trial, "metric": line.metric, "x": x, "y": y}


def _metric(name: str, where: str) -> Metric:
    """The metric of a stored name. Raises UsageError for an unknown one."""
    try:
        return Metric(name)
    except ValueError:
        raise _newer(where, f"the metric {name!r}") from None


def _subject(kind: str, name: str, where: str) -> Subject:
    """The subject of a stored kind and name. Raises UsageError for an unknown kind."""
    try:
        return Subject(SubjectKind(kind), str(name))
    except ValueError:
        raise _newer(where, f"values of the kind {kind!r}") from None


def _newer(where: str, what: str) -> UsageError:
    return UsageError(f"{where} holds {what}, which keybench {keybench.__version__} does not know: update keybench.")
