"""The results database: runs, their environments, and every trial with all it measured, failed ones included."""

from __future__ import annotations

import math
import secrets
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from sqlalchemy import Connection, and_, select
from sqlalchemy.exc import IntegrityError

import keybench
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading, Series
from keybench.model.subject import Subject, SubjectKind
from keybench.results.store import loading, tables
from keybench.results.store.blobs import Blob
from keybench.results.store.file import Storage, open_storage
from keybench.results.store.migrations import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "Environment", "Run", "Store", "Trial", "new_run_id"]

_SHOWN_RUNS = 5


@dataclass(frozen=True)
class Run:
    """What was asked for and where it ran. `started` is aware; `definition` is all that a resume needs."""

    id: str
    started: datetime
    keybench: str
    command: str
    seed: int
    blocks: int
    scenario: str
    profile: str
    definition: Mapping[str, object]
    machine: Mapping[str, object]

    @property
    def load_path(self) -> str:
        """The name of the load path (`keybench.model.load_path`)."""
        scenario = self.definition.get("scenario")
        load = scenario.get("load") if isinstance(scenario, dict) else None
        return str(load.get("path", "rows")) if isinstance(load, dict) else "rows"

    def title(self, database: str) -> str:
        """The product's name; the engine's own name in runs that did not record it."""
        titles = self.definition.get("titles")
        return str(titles.get(database, database)) if isinstance(titles, dict) else database


@dataclass(frozen=True)
class Environment:
    """A server as it reports itself; `cache_bytes` is its page cache."""

    database: str
    server: str
    versions: Mapping[str, str]
    settings: Mapping[str, str]
    cache_bytes: int


@dataclass(frozen=True)
class Trial:
    """One trial as it ended. `block` counts from 1; `position` is its place in the block's shuffled order, from 0.

    `started` is aware, `seconds` the whole trial's duration. A failed one has an `error`, a `traceback` where the error
    was unexpected, and need not have readings.
    """

    block: int
    position: int
    database: str
    server: str
    column: str
    layout: str
    scenario: str
    payload: int
    rows: int
    writers: int
    rows_per_tx: int
    started: datetime
    seconds: float
    status: Literal["ok", "error"]
    error: str
    readings: tuple[Reading, ...] = ()
    series: tuple[Series, ...] = ()
    blobs: tuple[Blob, ...] = ()
    traceback: str = ""


_PLAIN_FIELDS = tuple(field.name for field in fields(Trial) if field.name not in {"readings", "series", "blobs"})


def new_run_id() -> str:
    """Ten random hexadecimal digits."""
    return secrets.token_hex(5)


class Store:
    """An open results database. Any method raises a KeybenchError where the database refuses or is gone."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @classmethod
    def open(cls, url: str, *, write: bool) -> Store:
        """Opens a file, or a SQLAlchemy URL of SQLite or PostgreSQL; only `write` creates and locks.

        Raises UsageError: no file to read, another run is writing, not a results database, damaged, of a newer
        keybench, not writable. Raises EnvironmentMissing: the disk is full, the server does not answer. A file that
        is refused is left as it was.
        """
        return cls(open_storage(url, write=write))

    def add_run(self, run: Run) -> None:
        """Records a run, before its first trial."""
        with self._storage.transaction() as connection:
            connection.execute(tables.run.insert().values(**_plain(run)))

    def runs(self) -> list[Run]:
        """All runs, the oldest first."""
        with self._storage.transaction() as connection:
            rows = connection.execute(select(tables.run).order_by(tables.run.c.started, tables.run.c.id)).all()
        return [Run(**row._asdict()) for row in rows]

    def run(self, name: str) -> Run:
        """The run of that id, of that unique prefix of an id, or the `latest`; UsageError otherwise."""
        runs = self.runs()
        if not runs:
            raise UsageError(f"{self._storage.where} holds no runs yet: measure with `keybench run`.")
        if name == "latest":
            return runs[-1]
        found = [run for run in runs if run.id == name] or [run for run in runs if name and run.id.startswith(name)]
        if not found:
            raise UsageError(f"no run {name!r} in {self._storage.where}: use latest, or one of {_listed(runs)}.")
        if len(found) > 1:
            raise UsageError(f"run {name!r} is ambiguous: add letters to tell apart {_listed(found)}.")
        return found[0]

    def add_environment(self, run_id: str, environment: Environment) -> None:
        """Records a server's environment, in place of an earlier record of the same database and server."""
        table = tables.environment
        same = and_(
            table.c.run == run_id,
            table.c.database == environment.database,
            table.c.server == environment.server,
        )
        with self._storage.transaction() as connection:
            connection.execute(table.delete().where(same))
            connection.execute(table.insert().values(run=run_id, **_plain(environment)))

    def environments(self, run_id: str) -> list[Environment]:
        """The environments of a run, by database and server."""
        table = tables.environment
        query = select(table).where(table.c.run == run_id).order_by(table.c.database, table.c.server)
        with self._storage.transaction() as connection:
            rows = connection.execute(query).all()
        return [Environment(*row[1:]) for row in rows]

    def record(self, run_id: str, trial: Trial) -> None:
        """Records a trial with all it measured, in one transaction: wholly or, where an error is raised, not at all.

        ValueError where that block and position of the run is recorded already or the run is unknown.
        """
        try:
            with self._storage.transaction() as connection:
                self._insert(connection, run_id, trial)
        except IntegrityError as error:
            raise ValueError(
                f"block {trial.block}, position {trial.position} of run {run_id} cannot be recorded: {error.orig}"
            ) from None

    def _insert(self, connection: Connection, run_id: str, trial: Trial) -> None:
        block, key = tables.block, {"run": run_id, "number": trial.block}
        known = and_(block.c.run == run_id, block.c.number == trial.block)
        if connection.execute(select(block.c.number).where(known)).first() is None:
            connection.execute(block.insert().values(**key, started=trial.started))
        plain = {name: getattr(trial, name) for name in _PLAIN_FIELDS} | {"traceback": trial.traceback or None}
        inserted = connection.execute(tables.trial.insert().values(run=run_id, **plain)).inserted_primary_key
        number = inserted[0] if inserted else None
        if values := [_value(number, reading) for reading in trial.readings]:
            connection.execute(tables.value.insert(), values)
        if series := [_packed(number, line) for line in trial.series]:
            connection.execute(tables.series.insert(), series)
        if blobs := [{"trial": number, "kind": blob.kind, "content": blob.content} for blob in trial.blobs]:
            connection.execute(tables.blob.insert(), blobs)

    def done(self, run_id: str) -> set[tuple[int, int]]:
        """(block, position) of every recorded trial, failed ones included."""
        table = tables.trial
        with self._storage.transaction() as connection:
            rows = connection.execute(select(table.c.block, table.c.position).where(table.c.run == run_id)).all()
        return {(block, position) for block, position in rows}

    def trials(self, run_id: str, *, blobs: bool = False) -> list[Trial]:
        """Every trial by block and position; readings in the order of Metric, the key's own before a model's.

        Blobs, which only pictures need, where asked for, by kind.
        """
        trial = tables.trial
        query = select(trial).where(trial.c.run == run_id).order_by(trial.c.block, trial.c.position)
        with self._storage.transaction() as connection:
            rows = connection.execute(query).all()
            readings = loading.readings(connection, run_id, self._metric, self._subject)
            series = loading.series(connection, run_id, self._metric)
            kept = loading.blobs(connection, run_id) if blobs else defaultdict(tuple)
        return [
            Trial(
                **{name: getattr(row, name) for name in _PLAIN_FIELDS} | {"traceback": row.traceback or ""},
                readings=readings[row.id],
                series=series[row.id],
                blobs=tuple(Blob(kind, content) for kind, content in kept[row.id]),
            )
            for row in rows
        ]

    def _metric(self, name: str) -> Metric:
        try:
            return Metric(name)
        except ValueError:
            raise UsageError(
                f"{self._storage.where} holds the metric {name!r}, which keybench {keybench.__version__} does not "
                "know: update keybench."
            ) from None

    def _subject(self, kind: str, name: str) -> Subject:
        try:
            return Subject(SubjectKind(kind), name)
        except ValueError:
            raise UsageError(
                f"{self._storage.where} holds values of the kind {kind!r}, which keybench {keybench.__version__} does "
                "not know: update keybench."
            ) from None

    def warn(self, run_id: str, text: str) -> None:
        """Records what a reader of the run's results has to know; the same text only once."""
        table = tables.warning
        with self._storage.transaction() as connection:
            if text not in connection.execute(select(table.c.text).where(table.c.run == run_id)).scalars().all():
                connection.execute(table.insert().values(run=run_id, text=text))

    def warnings(self, run_id: str) -> list[str]:
        """The warnings of a run, in the order in which they came."""
        table = tables.warning
        with self._storage.transaction() as connection:
            query = select(table.c.text).where(table.c.run == run_id).order_by(table.c.id)
            return list(connection.execute(query).scalars())

    def close(self) -> None:
        """Closes the database and lets the next writer in."""
        self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _plain(record: Run | Environment) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _listed(runs: Iterable[Run]) -> str:
    ids = [run.id for run in runs][::-1]
    return ", ".join(ids[:_SHOWN_RUNS]) + (f" … ({len(ids)} in all)" if len(ids) > _SHOWN_RUNS else "")


def _value(trial: int | None, reading: Reading) -> dict[str, Any]:
    if reading.value is not None and not math.isfinite(reading.value):
        why = f"the probe gave {reading.value}, which is no number"
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


def _packed(trial: int | None, line: Series) -> dict[str, Any]:
    x, y = (zlib.compress(np.asarray(a, dtype).tobytes()) for a, dtype in ((line.x, "<i8"), (line.y, "<f8")))
    return {"trial": trial, "metric": line.metric, "x": x, "y": y}
