"""What belongs to the trials of a run, read in bulk: a large run has a million values.

Each function gives its rows by the trial's number in the database; `metric` and `subject` turn names into what they
stand for, or raise.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from keybench.model.metric import Metric
from keybench.model.reading import Reading, Series
from keybench.model.subject import KEY, Subject
from keybench.results.store import tables

_ORDER = {metric: place for place, metric in enumerate(Metric)}
_Place = tuple[int, bool, str]


def readings(
    connection: Connection, run_id: str, metric: Callable[[str], Metric], subject: Callable[[str, str], Subject]
) -> defaultdict[int, tuple[Reading, ...]]:
    """In the order of Metric, the key's own before a model's."""
    trial, value = tables.trial, tables.value
    columns = (value.c.trial, value.c.metric, value.c.subject_kind, value.c.subject_name)
    known: dict[tuple[str, str, str], tuple[_Place, Metric, Subject]] = {}
    found: dict[int, list[tuple[_Place, Reading]]] = defaultdict(list)
    for number, *names, amount, origin, reason in connection.execute(
        select(*columns, value.c.value, value.c.origin, value.c.reason).join(trial).where(trial.c.run == run_id)
    ).all():
        if (one := known.get((names[0], names[1], names[2]))) is None:
            measured, about = metric(names[0]), subject(names[1], names[2])
            one = (_ORDER[measured], about != KEY, str(about)), measured, about
            known[names[0], names[1], names[2]] = one
        place, measured, about = one
        found[number].append((place, Reading(measured, amount, origin, reason, about)))
    # No two readings of a trial have the same place.
    ordered = {number: tuple(reading for _, reading in sorted(placed)) for number, placed in found.items()}
    return defaultdict(tuple, ordered)


def series(
    connection: Connection, run_id: str, metric: Callable[[str], Metric]
) -> defaultdict[int, tuple[Series, ...]]:
    """In the order of Metric."""
    trial, table = tables.trial, tables.series
    found: dict[int, list[Series]] = defaultdict(list)
    columns = (table.c.trial, table.c.metric, table.c.x, table.c.y)
    for number, name, x, y in connection.execute(select(*columns).join(trial).where(trial.c.run == run_id)).all():
        found[number].append(Series(metric(name), _unpacked(x, "<i8"), _unpacked(y, "<f8")))
    ordered = {number: tuple(sorted(lines, key=lambda line: _ORDER[line.metric])) for number, lines in found.items()}
    return defaultdict(tuple, ordered)


def blobs(connection: Connection, run_id: str) -> defaultdict[int, tuple[tuple[str, bytes], ...]]:
    """Kinds and contents, by kind."""
    trial, table = tables.trial, tables.blob
    found: dict[int, list[tuple[str, bytes]]] = defaultdict(list)
    columns = (table.c.trial, table.c.kind, table.c.content)
    rows = connection.execute(select(*columns).join(trial).where(trial.c.run == run_id).order_by(table.c.kind)).all()
    for number, kind, content in rows:
        found[number].append((kind, content))
    return defaultdict(tuple, {number: tuple(kept) for number, kept in found.items()})


def _unpacked(content: bytes, dtype: str) -> NDArray[Any]:
    # A copy in the machine's own byte order; an array over bytes could not be written to.
    return np.frombuffer(zlib.decompress(content), dtype).astype(dtype[1:])
