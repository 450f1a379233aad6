"""Writers on any `concurrent.futures.Executor`: they meet at the board of the benchmark database."""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, wait
from contextlib import suppress
from typing import Protocol

from keybench.databases.contract import Address
from keybench.databases.core.coordination import CoordinationTable, HasCoordinationTable
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError, UsageError
from keybench.runners.writers.barrier import BoardSeat, Stopped
from keybench.runners.writers.crews import Progress
from keybench.runners.writers.processes import POLL_SECONDS, WorkerLost
from keybench.runners.writers.remote import Call, Identity, Outcome, identity, ready, write_remotely
from keybench.runners.writers.writer import Load, Sent

BEAT_SECONDS = 1.0
READY_SECONDS = 120.0
STOP_SECONDS = 10.0
"""How long writers are waited for that were told to stop: they look before every transaction that may be late."""
LOST_SECONDS = 2.0
"""How long after that until nothing more can come from one that is lost: ten times `rendezvous.LIFE_SECONDS`."""


class Slots(Protocol):
    """Places of an executor, of which each takes one writer."""

    title: str

    def submitters(self, count: int) -> Sequence[Callable[[bytes], Future[Outcome]]]:
        """For so many writers at once, what submits a call (as bytes, for `pickle.loads`) to a place of its own.

        UsageError where there are not so many.
        """
        ...

    def lost(self) -> frozenset[int]:
        """Which of the places last given are gone."""
        ...

    def close(self) -> None:
        """Lets the executor go."""
        ...


class Plain:
    """The slots of an executor that says nothing of its workers: each writer is one task."""

    def __init__(self, executor: Executor, slots: int) -> None:
        self.title = type(executor).__name__
        self._executor, self._slots = executor, slots

    def submitters(self, count: int) -> Sequence[Callable[[bytes], Future[Outcome]]]:
        """The executor's `submit`, for each."""
        if count > self._slots:
            raise too_few(count, self._slots, self.title, "use fewer writers, or an executor with more workers.")
        return [lambda call: self._executor.submit(pickle.loads, call)] * count

    def lost(self) -> frozenset[int]:
        """None that it would know of; what is lost shows as the error of a task."""
        return frozenset()

    def close(self) -> None:
        """Nothing: it is its maker's."""


def too_few(count: int, slots: int, title: str, advice: str) -> UsageError:
    """The error for fewer places than writers."""
    return UsageError(f"{count} writers need as many worker processes, and {title} has {slots}: {advice}")


class OnExecutor:
    """A crew on an executor's workers."""

    connections = 2
    """Its session and its connection to the board."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._workers: list[Identity] = []

    def check(self, engine: str, address: Address, writers: int, layouts: Sequence[str]) -> None:
        """That there are slots enough, and that each has this very keybench and reaches the server."""
        call = Call(ready, (engine, address, tuple(layouts))).pickled()
        futures = [submit(call) for submit in self._slots.submitters(writers)]
        _, late = wait(futures, READY_SECONDS)
        if late:
            for future in late:
                future.cancel()
            raise EnvironmentMissing(
                f"{len(late)} of {writers} workers of {self._slots.title} have not answered within "
                f"{READY_SECONDS:.0f} s: see whether they are busy with something else."
            )
        own = identity()
        self._workers = [_checked(future, own, self._slots.title) for future in futures]

    def described(self) -> Mapping[str, str]:
        """How many writers, on which machines."""
        machines = sorted({worker.machine for worker in self._workers})
        return {"executor": f"{self._slots.title}, {len(self._workers)} workers on {', '.join(machines)}"}

    def run(self, loads: Sequence[Load], *, timeout: float, progress: Progress) -> list[Sent]:
        """As `Crew`."""
        on, address = engine(loads[0].engine), loads[0].address
        assert isinstance(on, HasCoordinationTable)
        board, number = on.coordination_table(address), secrets.randbits(62)
        futures: list[Future[Outcome]] = []
        try:
            board.create(number, len(loads))
            try:
                for i, (work, submit) in enumerate(zip(loads, self._slots.submitters(len(loads)), strict=True)):
                    seat = BoardSeat(address, number, i, work.skew_rows, timeout)
                    futures.append(submit(Call(write_remotely, (work, seat)).pickled()))
                self._wait(futures, board, number, timeout, progress)
            except BaseException:
                self._stop(futures, board, number)
                raise
        except KeybenchError as error:
            raise _told(futures, error) from None
        finally:
            for future in futures:
                future.cancel()
            with suppress(ServerError):
                board.drop()
            board.close()
        done: list[Sent] = [future.result()[1] for future in futures]
        progress(sum(sent.acknowledged for sent in done))
        return done

    def _wait(
        self,
        futures: Sequence[Future[Outcome]],
        board: CoordinationTable,
        number: int,
        timeout: float,
        progress: Progress,
    ) -> None:
        """Until all writers are done; raises the first error."""
        deadline, beaten = time.monotonic() + timeout, 0.0
        while waited_for := [future for future in futures if not future.done()]:
            wait(waited_for, POLL_SECONDS)
            progress(board.rows_sent(number))
            _raise_failure(futures)
            now = time.monotonic()
            if now - beaten > BEAT_SECONDS:
                beaten = now
                board.heartbeat(number)
                if gone := sorted(i for i in self._slots.lost() if not futures[i].done()):
                    raise _lost(futures, gone[0])
                if now > deadline:
                    raise WorkerLost(
                        f"no result after {timeout:.0f} s: stopped. "
                        "Give a longer --trial-timeout if it may take so long."
                    )
        _raise_failure(futures)

    def _stop(self, futures: Sequence[Future[Outcome]], board: CoordinationTable, number: int) -> None:
        """Returns once no writer sends anything any more, as far as can be known."""
        begun, lost = time.monotonic(), frozenset[int]()
        try:
            board.stop(number)
            while working := board.active_writers(number):
                lost = frozenset(i for i, future in enumerate(futures) if future.done()) | self._slots.lost()
                passed = time.monotonic() - begun
                if passed > STOP_SECONDS or (working <= lost and passed > LOST_SECONDS):
                    break
                time.sleep(POLL_SECONDS)
        except KeybenchError:  # without the server nobody sends
            pass
        wait([future for i, future in enumerate(futures) if i not in lost], LOST_SECONDS)


def _outcome(futures: Sequence[Future[Outcome]], writer: int) -> Outcome:
    """A task's, also where the executor lost it."""
    try:
        return futures[writer].result()
    except CancelledError:  # Dask cancels what a lost worker had been given
        return "error", _lost(futures, writer)
    except KeybenchError as error:
        return "error", error
    except Exception as error:
        said = " ".join(str(error).split())
        return "error", WorkerLost(f"a writer was lost with its worker ({type(error).__name__}: {said}).")


def _lost(futures: Sequence[Future[Outcome]], writer: int) -> WorkerLost:
    return WorkerLost(f"writer {writer + 1} of {len(futures)} was lost with its worker.")


def _errors(futures: Sequence[Future[Outcome]]) -> list[KeybenchError]:
    outcomes = [_outcome(futures, i) for i, future in enumerate(futures) if future.done()]
    return [value for kind, value in outcomes if kind == "error"]


def _raise_failure(futures: Sequence[Future[Outcome]]) -> None:
    for error in _errors(futures):
        raise error


def _told(futures: Sequence[Future[Outcome]], failed: KeybenchError) -> KeybenchError:
    """What is told of several errors: what happened to a writer itself, before that others were stopped for it."""
    errors = [failed, *_errors(futures)]
    return next((error for error in errors if not isinstance(error, Stopped)), failed)


def _checked(future: Future[Outcome], own: Identity, title: str) -> Identity:
    """The worker's identity; KeybenchError where it cannot work, or has another keybench."""
    try:
        kind, value = future.result()
    except Exception as error:
        if isinstance(error, ModuleNotFoundError):
            raise EnvironmentMissing(
                f"a worker of {title} has no {error.name}: install keybench {own.keybench} where the workers run, "
                "with the same extras."
            ) from None
        raise EnvironmentMissing(
            f"a worker of {title} failed ({type(error).__name__}: {' '.join(str(error).split())}): see its log."
        ) from None
    if kind == "error":
        assert isinstance(value, KeybenchError)
        raise value
    assert isinstance(value, Identity)
    if (value.keybench, value.code) != (own.keybench, own.code):
        raise EnvironmentMissing(
            f"a worker on {value.machine} has keybench {value.keybench} (code {value.code}), and here is "
            f"{own.keybench} (code {own.code}): install the same on all machines."
        )
    return value
