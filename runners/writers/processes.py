"""The pool of writers on this machine: functions run in worker processes.

A process that hangs or is killed causes an error. No process outlives the runner. A fork server starts them: a new
process costs about 20 ms, and threads of the runner (its progress display) are never forked.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Final

from keybench import locked_folder
from keybench.databases.contract.roles import Address
from keybench.databases.hosting import secret
from keybench.errors import KeybenchError, ServerError, unexpected
from keybench.runners.writers.barrier import SharedMemoryBarrier
from keybench.runners.writers.writer import WriterResult, WriterTask, write

POLL_SECONDS = 0.1

context: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
"""Makes the locks and arrays that are shared with the processes."""

context.set_forkserver_preload(["keybench.cli", "keybench.runners.writers.fork_server_imports", "psycopg", "apsw"])

Outcome = tuple[str, Any]
"""("result", value) or ("error", KeybenchError): what a process sends back of a call."""


class WorkerLost(ServerError):
    """A worker process ended without a result, or was ended because it took too long."""


def too_late(timeout: float) -> WorkerLost:
    """The error for workers without a result after `timeout` seconds."""
    return WorkerLost(
        f"no result after {timeout:.0f} s: stopped. Give a longer --trial-timeout if it may take so long."
    )


def run_all(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    timeout: float,
    poll: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Calls `function(*arguments[i])` in one process for each i, all at once; the results in the order of i.

    The first failure ends all processes and is raised: the worker's KeybenchError, or a WorkerLost that says what
    happened. `timeout` is in seconds. `poll` is called about ten times a second meanwhile.
    """
    _prepare_for_kills()
    processes, pipes = [], []
    passwords = secret.of_this_process()
    try:
        for values in arguments:
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(function, values, passwords, send), daemon=True)
            process.start()
            send.close()  # the worker alone has this end now, so its death ends the pipe
            processes.append(process)
            pipes.append(receive)
        return _collect(processes, pipes, time.monotonic() + timeout, timeout, poll)
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
        for process in processes:
            process.join()
            process.close()
        for pipe in pipes:
            pipe.close()


def _collect(
    processes: Sequence[Any], pipes: Sequence[Connection], deadline: float, timeout: float, poll: Callable[[], None]
) -> list[Any]:
    """The results of all processes, each from its pipe; the first error is raised. `timeout`: for the error's text."""
    results: dict[int, Any] = {}
    while len(results) < len(pipes):
        if time.monotonic() > deadline:
            raise too_late(timeout)
        waiting = {pipe: i for i, pipe in enumerate(pipes) if i not in results}
        for pipe in wait(list(waiting), POLL_SECONDS):
            i = waiting[pipe]  # type: ignore[index]
            try:
                outcome, value = pipes[i].recv()
            except EOFError:  # it died before it sent anything
                processes[i].join()
                raise WorkerLost(
                    f"writer process {i + 1} of {len(pipes)} died ({_cause(processes[i].exitcode)})."
                ) from None
            if outcome == "error":
                raise value
            results[i] = value
        poll()
    return [results[i] for i in range(len(pipes))]


def _cause(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:  # multiprocessing's way to say which signal killed the process
        return f"signal {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _end_with_runner() -> None:
    """Ends this worker when the runner has ended, however it ended. (The fork server lives as long as a worker.)"""
    runner = multiprocessing.parent_process()
    if runner is not None:
        wait([runner.sentinel])
        os._exit(1)


def _work(
    function: Callable[..., Any], values: tuple[Any, ...], passwords: Mapping[str, str], pipe: Connection
) -> None:
    """What a worker process does: it calls the function and sends the outcome through the pipe."""
    secret.replace_with(passwords)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner handles Ctrl-C
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        message: Outcome = ("result", function(*values))
    except Exception as error:
        message = failure(error)
    pipe.send(message)
    pipe.close()


def failure(error: Exception) -> Outcome:
    """The outcome of a call that raised this: a defect, or what a driver does not document, becomes a KeybenchError."""
    return "error", error if isinstance(error, KeybenchError) else unexpected(error)


# What is left of killed processes. The tests kill each process of a run 200 times, and find nothing afterwards.

_LONGEST = 100 - len("/keybench-run-00000000/listener-00000000")
"""Characters of a directory in which the path of the fork server's socket stays within the system's limit."""
_AFTER_EVERYTHING_ELSE = -100
"""Priority of the folder's removal; multiprocessing removes its own at this priority."""
_FORGET: Final = resource_tracker.unregister


def _prepare_for_kills() -> None:
    """Before the first worker process: nothing is left or printed when processes are killed. May be called again."""
    warnings.filterwarnings("ignore", "resource_tracker: process died unexpectedly", UserWarning)
    resource_tracker.unregister = _introduce_and_forget  # else a new tracker prints tracebacks
    _lock_folder()


def _introduce_and_forget(name: Any, rtype: str) -> None:
    """Removes a semaphore from the resource tracker's list, after it has been added. If the tracker is killed,
    multiprocessing starts another, which would print a traceback for each semaphore that it does not know."""
    resource_tracker.register(name, rtype)
    _FORGET(name, rtype)


def _lock_folder() -> None:
    """Makes the folder of the fork server's socket a locked one.

    By itself, multiprocessing makes a folder `pymp-…`, which a killed runner leaves. A locked folder is removed by the
    fork server when the runner is gone, and if both were killed, by the next command.
    """
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]  # where get_temp_dir looks
    base = Path(tempfile.gettempdir())
    if config.get("tempdir") or len(str(base)) > _LONGEST:  # there is a folder already, or the path would be too long
        return
    if (claimed := locked_folder.claim(base, "run")) is None:
        return
    folder, lock = claimed
    folder.mkdir(mode=0o700)
    config["tempdir"] = str(folder)
    Finalize(None, locked_folder.release, (folder, lock), exitpriority=_AFTER_EVERYTHING_ELSE)


Progress = Callable[[int], None]
"""Called with the rows that all writers together have sent so far."""


class WriterPool:
    """Processes that write: by default one of this machine for each writer, started by the fork server."""

    connections_per_writer = 1
    """Connections to the server that each writer opens."""
    target = staticmethod(write)
    """The function that each process of this machine runs."""

    def check(self, engine: str, address: Address, writers: int, layouts: Sequence[str]) -> None:
        """KeybenchError if `writers` writers cannot work on that server. Called before anything is sent. Processes of
        this machine have what the runner has, so there is nothing to check."""

    def description(self) -> Mapping[str, str]:
        """The pool's properties, which are recorded beside a server's settings."""
        return {}

    def run(self, tasks: Sequence[WriterTask], *, timeout: float, progress: Progress) -> list[WriterResult]:
        """Runs all writers at once. Their results are in the order of the tasks. The first failure stops all writers.
        It is raised once none of them sends anything more. `timeout` is in seconds."""
        sent = context.RawArray("q", len(tasks))  # "q": int64
        reached = context.RawArray("q", len(tasks))
        barrier = context.Barrier(len(tasks))
        results: list[WriterResult] = run_all(
            self.target,
            [(task, SharedMemoryBarrier(i, sent, reached, barrier, task.skew_rows)) for i, task in enumerate(tasks)],
            timeout=timeout,
            poll=lambda: progress(sum(sent)),
        )
        progress(sum(sent))
        return results


LOCAL = WriterPool()
