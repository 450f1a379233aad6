"""A pool of writers on the workers of an executor, which may be other machines.

The writers wait for one another through a table in the benchmark database (`table_barrier`).
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from typing import Protocol

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import CoordinationTable, HasCoordinationTable
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError, UsageError
from keybench.runners.writers.processes import POLL_SECONDS, Outcome, Progress, WorkerLost, WriterPool, too_late
from keybench.runners.writers.remote import (
    Call,
    LoadStopped,
    TableBarrierHandle,
    WorkerIdentity,
    identity,
    ready,
    write_remotely,
)
from keybench.runners.writers.writer import WriterResult, WriterTask

HEARTBEAT_SECONDS = 1.0
READY_SECONDS = 120.0
STOP_SECONDS = 10.0
"""How long to wait for writers that were told to stop. A writer checks the table only between transactions."""
LOST_SECONDS = 2.0
"""How long after the stop a lost writer may still send something: ten times `table_barrier.READ_SECONDS`."""


class ExecutorSlots(Protocol):
    """The workers of an executor. Each takes one writer."""

    title: str

    def submitters(self, count: int) -> Sequence[Callable[[bytes], Future[Outcome]]]:
        """One function for each of `count` workers: it submits a call (bytes, for `pickle.loads`) to that worker.
        UsageError if there are fewer workers."""

    def lost(self) -> frozenset[int]:
        """Which of the workers that `submitters` chose last are gone."""


def too_few_workers(count: int, workers: int, title: str, advice: str) -> UsageError:
    """The error for more writers than workers."""
    return UsageError(f"{count} writers need as many worker processes, and {title} has {workers}: {advice}")


class ExecutorPool(WriterPool):
    """Writers on the workers of an executor."""

    connections_per_writer = 2
    """Its session and its connection to the coordination table."""

    def __init__(self, slots: ExecutorSlots) -> None:
        self._slots = slots
        self._workers: list[WorkerIdentity] = []  # known after `check`

    def check(self, engine: str, address: Address, writers: int, layouts: Sequence[str]) -> None:
        """Checks that there are enough workers, and that each has the runner's keybench and reaches the server."""
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
        here = identity()
        self._workers = [_checked(future, here, self._slots.title) for future in futures]

    def description(self) -> Mapping[str, str]:
        """How many workers, and on which machines."""
        machines = sorted({worker.machine for worker in self._workers})
        return {"executor": f"{self._slots.title}, {len(self._workers)} workers on {', '.join(machines)}"}

    def run(self, tasks: Sequence[WriterTask], *, timeout: float, progress: Progress) -> list[WriterResult]:
        """Runs all writers at once (`WriterPool.run`). The first failure stops all and is raised."""
        address = tasks[0].address
        on = engine(address.engine)
        assert isinstance(on, HasCoordinationTable)
        table, load = on.coordination_table(address), secrets.randbits(62)  # load: a number that no other has
        futures: list[Future[Outcome]] = []
        try:
            table.create(load, len(tasks))
            try:
                for i, (task, submit) in enumerate(zip(tasks, self._slots.submitters(len(tasks)), strict=True)):
                    handle = TableBarrierHandle(address, load, i, task.skew_rows, timeout)
                    futures.append(submit(Call(write_remotely, (task, handle)).pickled()))
                self._wait(futures, table, load, timeout, progress)
            except BaseException:  # also an interruption: no writer may go on sending
                self._stop(futures, table, load)
                raise
        except KeybenchError as error:
            raise _error_to_report(futures, error) from None
        finally:
            for future in futures:
                future.cancel()
            with suppress(ServerError):
                table.drop()
            table.close()
        results: list[WriterResult] = [future.result()[1] for future in futures]  # [0] is "result": none failed
        progress(sum(result.acknowledged for result in results))
        return results

    def _wait(
        self,
        futures: Sequence[Future[Outcome]],
        table: CoordinationTable,
        load: int,
        timeout: float,
        progress: Progress,
    ) -> None:
        """Waits until all writers are done; raises the first error, or WorkerLost if a worker is gone or time is over.
        Meanwhile it gives the writers a heartbeat, so that they know that the runner is alive."""
        deadline, last_heartbeat = time.monotonic() + timeout, 0.0  # 0: the first one is due at once
        while running := [future for future in futures if not future.done()]:
            wait(running, POLL_SECONDS)
            progress(table.rows_sent(load))
            _raise_first_error(futures)
            now = time.monotonic()
            if now - last_heartbeat > HEARTBEAT_SECONDS:
                last_heartbeat = now
                table.heartbeat(load)
                if lost := sorted(i for i in self._slots.lost() if not futures[i].done()):
                    raise _lost(futures, lost[0])
                if now > deadline:
                    raise too_late(timeout)
        _raise_first_error(futures)  # of writers that ended last

    def _stop(self, futures: Sequence[Future[Outcome]], table: CoordinationTable, load: int) -> None:
        """Stops the writers. Returns when, as far as can be known, none of them sends anything more. Waits
        `STOP_SECONDS` at most for those that are active, and `LOST_SECONDS` for those that were lost."""
        began, ended_or_lost = time.monotonic(), frozenset[int]()
        try:
            table.stop(load)
            while active := table.active_writers(load):
                ended_or_lost = frozenset(i for i, future in enumerate(futures) if future.done()) | self._slots.lost()
                passed = time.monotonic() - began
                if passed > STOP_SECONDS or (active <= ended_or_lost and passed > LOST_SECONDS):
                    break
                time.sleep(POLL_SECONDS)
        except KeybenchError:  # without the server nobody can send
            pass
        wait([future for i, future in enumerate(futures) if i not in ended_or_lost], LOST_SECONDS)


def _outcome(futures: Sequence[Future[Outcome]], writer: int) -> Outcome:
    """The outcome of a writer's task. An exception of the executor itself means that the worker was lost."""
    try:
        return futures[writer].result()
    except CancelledError:  # Dask cancels the tasks of a lost worker
        return "error", _lost(futures, writer)
    except KeybenchError as error:
        return "error", error
    except Exception as error:
        reason = " ".join(str(error).split())
        return "error", WorkerLost(f"a writer was lost with its worker ({type(error).__name__}: {reason}).")


def _lost(futures: Sequence[Future[Outcome]], writer: int) -> WorkerLost:
    return WorkerLost(f"writer {writer + 1} of {len(futures)} was lost with its worker.")


def _errors(futures: Sequence[Future[Outcome]]) -> list[KeybenchError]:
    outcomes = [_outcome(futures, i) for i, future in enumerate(futures) if future.done()]
    return [value for kind, value in outcomes if kind == "error"]


def _raise_first_error(futures: Sequence[Future[Outcome]]) -> None:
    if errors := _errors(futures):
        raise errors[0]


def _error_to_report(futures: Sequence[Future[Outcome]], first: KeybenchError) -> KeybenchError:
    """Which error to report: a writer's own failure rather than a LoadStopped of a writer that was stopped for it."""
    errors = [first, *_errors(futures)]
    return next((error for error in errors if not isinstance(error, LoadStopped)), first)


def _checked(future: Future[Outcome], here: WorkerIdentity, title: str) -> WorkerIdentity:
    """The worker's identity; KeybenchError if it cannot write or has another keybench."""
    try:
        kind, value = future.result()
    except ModuleNotFoundError as error:  # to unpickle the call, the worker imports keybench
        raise EnvironmentMissing(
            f"a worker of {title} has no {error.name}: install keybench {here.keybench} where the workers run, "
            "with the same extras."
        ) from None
    except Exception as error:
        raise EnvironmentMissing(
            f"a worker of {title} failed ({type(error).__name__}: {' '.join(str(error).split())}): see its log."
        ) from None
    if kind == "error":
        assert isinstance(value, KeybenchError)
        raise value
    assert isinstance(value, WorkerIdentity)
    if (value.keybench, value.code) != (here.keybench, here.code):
        raise EnvironmentMissing(
            f"a worker on {value.machine} has keybench {value.keybench} (code {value.code}), and this machine has "
            f"{here.keybench} (code {here.code}): install the same version on all machines."
        )
    return value
