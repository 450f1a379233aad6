"""How the writers of a load wait for one another: at a barrier before each slice, and inside it by `skew_rows`.

On one machine they look at memory that they share. On many, at a notice board in the benchmark database
(`databases.core.coordination`), with nothing else between them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from keybench.databases.contract import Address
from keybench.databases.core.coordination import CoordinationTable, HasCoordinationTable, LoadState
from keybench.databases.registry import engine
from keybench.errors import ServerError
from keybench.runners.writers.processes import WorkerLost

FINISHED = int(np.iinfo(np.int64).max)
"""Where a writer is that has no more rows in this slice."""

ARRIVAL_POLL_SECONDS = 0.01
RELEASE_POLL_SECONDS = 0.001
"""Writers make their buffers for seconds, and are looked for seldom. Once all are there, all look often."""

LIFE_SECONDS = 0.2
"""How long a writer goes on without a look at the board: nobody stops it in between."""

SILENCE_SECONDS = 30.0
"""A runner that gives no sign of life for so long is gone."""


@dataclass(frozen=True)
class Release:
    """When a barrier let the writers go, on the writer's own monotonic clock: not before, and not after. Both 0 of
    writers on one machine, whose clock is one."""

    earliest: float = 0.0
    latest: float = 0.0


class Stopped(WorkerLost):
    """The load has been given up, by the runner or for another writer's sake."""


class Rendezvous(Protocol):
    """One writer's view of the others. Row numbers are those of planned order."""

    def meet(self, first: int | None) -> Release:
        """Waits until all writers are there; `first` is the first row that this one sends, None where it has none."""
        ...

    def before(self, row: int) -> None:
        """Waits while a transaction that begins with that row would run too far ahead of the slowest writer's."""
        ...

    def sent(self, rows: int) -> None:
        """So many rows more have been sent."""
        ...

    def finish(self) -> None:
        """This writer has no more rows in this slice."""
        ...


class Seat(Protocol):
    """A writer's place at the rendezvous, picklable."""

    def taken(self) -> Any:
        """A context manager that gives the `Rendezvous`; on leaving it the writer sends nothing more."""
        ...


@dataclass(frozen=True)
class SharedMemory:
    """A seat, and a rendezvous, in memory that processes on one machine share."""

    place: int
    rows: Any
    ahead: Any
    barrier: Any
    skew_rows: int

    @contextmanager
    def taken(self) -> Iterator[Rendezvous]:
        """Itself."""
        yield self

    def meet(self, first: int | None) -> Release:
        """Waits at the barrier."""
        self.ahead[self.place] = FINISHED if first is None else first
        self.barrier.wait()
        return Release()

    def before(self, row: int) -> None:
        """Looks at the others five thousand times a second."""
        if len(self.ahead) > 1:
            self.ahead[self.place] = row
            while self.ahead[self.place] - min(self.ahead) > self.skew_rows:
                time.sleep(0.0002)

    def sent(self, rows: int) -> None:
        """Counts them where the runner looks."""
        self.rows[self.place] += rows

    def finish(self) -> None:
        """Lets the others go ahead."""
        self.ahead[self.place] = FINISHED


@dataclass(frozen=True)
class BoardSeat:
    """A seat at the board of a server."""

    address: Address
    load: int
    writer: int
    skew_rows: int
    seconds: float
    """How long the whole load may take."""

    @contextmanager
    def taken(self) -> Iterator[Rendezvous]:
        """WorkerLost where the writer has begun before: an executor runs what it lost again, and rows would be sent
        twice."""
        on = engine(self.address.engine)
        assert isinstance(on, HasCoordinationTable)
        board = on.coordination_table(self.address)
        try:
            if not board.claim(self.load, self.writer):
                raise WorkerLost("the writer had begun before and its worker was lost: it is not run a second time.")
            try:
                yield _OnBoard(board, self)
            except BaseException:
                with suppress(ServerError):  # what went wrong is what is told
                    board.stop(self.load)
                raise
            finally:
                with suppress(ServerError):
                    board.finish(self.load, self.writer)
        finally:
            board.close()


class _OnBoard:
    """What others have posted only ever grows inside a slice, so what was read once is a lower bound for good."""

    def __init__(self, board: CoordinationTable, seat: BoardSeat) -> None:
        self._board, self._seat = board, seat
        self._stage, self._ahead, self._rows = 0, 0, 0
        self._posted = self._least = 0
        self._beats, self._heard = -1, time.monotonic()
        self._looked, self._end = 0.0, self._heard + seat.seconds + SILENCE_SECONDS  # the runner is to stop it first
        self._step = max(1, seat.skew_rows // 4)

    def meet(self, first: int | None) -> Release:
        """Waits until all have arrived, then until all know that; the second is what is timed."""
        self._ahead = FINISHED if first is None else first
        self._arrive()
        while self._look().stage < self._stage:
            time.sleep(ARRIVAL_POLL_SECONDS)
        earliest = time.perf_counter()
        self._arrive()
        while True:
            asked = time.perf_counter()
            standing = self._look()
            latest = time.perf_counter()
            if standing.stage >= self._stage:
                return Release(earliest, latest)
            earliest = asked
            time.sleep(RELEASE_POLL_SECONDS)

    def before(self, row: int) -> None:
        """Posts its place now and then: what others see of it may be older, and so they keep to less, never to more."""
        self._ahead = row
        far = row - self._least > self._seat.skew_rows
        if far or row - self._posted >= self._step:
            self._post()
        if far or time.monotonic() - self._looked > LIFE_SECONDS:
            while row - self._look().row > self._seat.skew_rows:
                time.sleep(RELEASE_POLL_SECONDS)

    def sent(self, rows: int) -> None:
        """Counts them; the board has them with the next post."""
        self._rows += rows

    def finish(self) -> None:
        """Lets the others go ahead."""
        self._ahead = FINISHED
        self._post()

    def _arrive(self) -> None:
        self._stage += 1
        self._post()

    def _post(self) -> None:
        seat = self._seat
        self._board.update(seat.load, seat.writer, stage=self._stage, row=self._ahead, sent=self._rows)
        self._posted = self._ahead

    def _look(self) -> LoadState:
        """How things stand; Stopped where the load is over."""
        standing, now = self._board.read(self._seat.load), time.monotonic()
        if standing.stopped:
            raise Stopped("the load was given up.")
        if standing.heartbeats != self._beats:
            self._beats, self._heard = standing.heartbeats, now
        elif now - self._heard > SILENCE_SECONDS:
            raise Stopped(f"the runner has given no sign of life for {SILENCE_SECONDS:g} s.")
        if now > self._end:
            raise Stopped(f"no end within {self._seat.seconds:.0f} s.")
        self._looked, self._least = now, standing.row
        return standing
