"""The results database: runs, their environments, and every trial with all its measurements, including failed ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, and_, select
from sqlalchemy.exc import IntegrityError

from keybench.errors import UsageError
from keybench.results.store import rows, tables
from keybench.results.store.opening import open_storage
from keybench.results.store.records import REPEATED, Environment, Run, Trial
from keybench.results.store.storage import ANOTHER, DAMAGE, Storage, damaged

_SHOWN_RUNS = 5


class Store:
    """An open results database. Any method raises a KeybenchError if the database refuses or does not answer."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @classmethod
    def open(cls, url: str, *, write: bool, create: bool = True) -> Store:
        """Opens a file, or a SQLAlchemy URL of PostgreSQL. Only with `write` is it locked, and
        created if it is missing; with `create` unset, it must be there.

        Raises UsageError: no file to read, another run is writing, not a results database, damaged, written by a newer
        keybench, not writable. Raises EnvironmentMissing: the disk is full, or the server does not answer. A file that
        is refused is left unchanged.
        """
        return cls(open_storage(url, write=write, create=create))

    def add_run(self, run: Run) -> None:
        """Records a run, before its first trial."""
        with self._storage.transaction() as connection:
            connection.execute(tables.run.insert().values(**vars(run)))

    def remove_empty_run(self, run_id: str) -> None:
        """Removes a run that has no trial, with its environments and warnings."""
        # In a damaged file, a row of another table may still refer to the run, which then stays.
        with suppress(IntegrityError), self._storage.transaction() as connection:
            for table in (tables.environment, tables.warning):
                connection.execute(table.delete().where(table.c.run == run_id))
            connection.execute(tables.run.delete().where(tables.run.c.id == run_id))

    def runs(self) -> list[Run]:
        """All runs, oldest first."""
        return [self._load_run(run_id) for run_id in self._ids()]

    def run(self, name: str) -> Run:
        """The run with this id or unique prefix of an id, or the `latest`; UsageError if there is none."""
        ids = self._ids()
        if not ids:
            raise UsageError(f"{self._storage.where} holds no runs yet: measure with `keybench run`.")
        if name == "latest":
            return self._load_run(ids[-1])
        matches = [run_id for run_id in ids if run_id == name] or [
            run_id for run_id in ids if name and run_id.startswith(name)
        ]
        if not matches:
            raise UsageError(f"no run {name!r} in {self._storage.where}: use latest, or one of {_listed(ids)}.")
        if len(matches) > 1:
            raise UsageError(f"run {name!r} is ambiguous: add characters to tell apart {_listed(matches)}.")
        return self._load_run(matches[0])

    def _ids(self) -> list[str]:
        """The ids of all runs, oldest first."""
        query = select(tables.run.c.id).order_by(tables.run.c.started, tables.run.c.id)
        with self._reading("the list of its runs") as connection:
            return [str(name) for name in connection.execute(query).scalars()]

    def _load_run(self, run_id: str) -> Run:
        with self._reading(f"run {run_id}") as connection:
            return rows.load_run(connection, run_id)

    @contextmanager
    def _reading(self, place: str) -> Iterator[Connection]:
        """A transaction for reading. UsageError, which names the `place`, if values are damaged."""
        try:
            with self._storage.transaction() as connection:
                yield connection
        except DAMAGE as error:
            raise damaged(self._storage.where, place, error) from None

    def add_environment(self, run_id: str, environment: Environment) -> None:
        """Records a server's environment. It replaces an earlier record of the same database and server."""
        table = tables.environment
        same = and_(
            table.c.run == run_id, table.c.database == environment.database, table.c.server == environment.server
        )
        with self._storage.transaction() as connection:
            connection.execute(table.delete().where(same))
            connection.execute(table.insert().values(run=run_id, **vars(environment)))

    def environments(self, run_id: str) -> list[Environment]:
        """The environments of a run, by database and server."""
        with self._reading(f"run {run_id}") as connection:
            return rows.environments(connection, run_id)

    def record(self, run_id: str, trial: Trial) -> None:
        """Records a trial with all its measurements, in one transaction: if an error is raised, nothing is recorded.
        It replaces a trial in the same place whose error says that it is `REPEATED`. Raises UsageError if the place
        has another trial, or the run is unknown; a damaged file can cause that."""
        table = tables.trial
        here = and_(table.c.run == run_id, table.c.block == trial.block, table.c.position == trial.position)
        try:
            with self._storage.transaction() as connection:
                connection.execute(table.delete().where(and_(here, table.c.error.endswith(REPEATED))))
                rows.insert_trial(connection, run_id, trial)
        except IntegrityError as error:
            raise UsageError(
                f"block {trial.block}, position {trial.position} of run {run_id} cannot be recorded: {error.orig}. "
                f"{self._storage.where} may be damaged: take it from a copy, or {ANOTHER}."
            ) from None

    def done(self, run_id: str) -> set[tuple[int, int]]:
        """(block, position) of every recorded trial, failed ones included, `REPEATED` ones not."""
        table = tables.trial
        final = and_(table.c.run == run_id, ~table.c.error.endswith(REPEATED))
        with self._reading(f"run {run_id}") as connection:
            places = connection.execute(select(table.c.block, table.c.position).where(final)).all()
        return {(block, position) for block, position in places}

    def trials(self, run_id: str, *, blobs: bool = False) -> list[Trial]:
        """Every trial, sorted by block and position; readings in the order of Metric, the key's before a model's.
        Blobs, which only pictures need, are read if `blobs` is set; they are sorted by kind."""
        with self._reading(f"run {run_id}") as connection:
            return rows.load_trials(connection, run_id, self._storage.where, blobs=blobs)

    def warn(self, run_id: str, message: str) -> None:
        """Records a warning for readers of the run's results; the same text is stored only once."""
        table = tables.warning
        with self._storage.transaction() as connection:
            if message not in connection.execute(select(table.c.text).where(table.c.run == run_id)).scalars().all():
                connection.execute(table.insert().values(run=run_id, text=message))

    def warnings(self, run_id: str) -> list[str]:
        """The warnings of a run, in the order in which they were recorded."""
        table = tables.warning
        with self._reading(f"run {run_id}") as connection:
            query = select(table.c.text).where(table.c.run == run_id).order_by(table.c.id)
            return [str(text) for text in connection.execute(query).scalars()]

    def close(self) -> None:
        """Closes the database and lets the next writer in."""
        self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _listed(oldest_first: Sequence[str]) -> str:
    """The newest ids, as a list in a message; it says how many there are if it does not have all."""
    ids = oldest_first[::-1]
    return ", ".join(ids[:_SHOWN_RUNS]) + (f" … ({len(ids)} in all)" if len(ids) > _SHOWN_RUNS else "")
