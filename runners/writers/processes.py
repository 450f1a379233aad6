"""Runs functions in worker processes. A process that hangs or is killed causes an error. No process outlives the
runner.

A fork server starts them: a new process costs about 20 ms, and threads of the runner (its progress display) are never
forked.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from keybench.databases.hosting import secret
from keybench.errors import KeybenchError, ServerError, unexpected
from keybench.runners.writers import process_folder, semaphore_tracker

POLL_SECONDS = 0.1

context: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
"""Makes the locks and arrays that are shared with the processes."""

context.set_forkserver_preload(["keybench.cli", "keybench.runners.writers.fork_server_imports", "psycopg", "apsw"])


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
    process_folder.prepare()
    semaphore_tracker.prepare()
    processes, pipes = [], []
    passwords = secret.of_this_process()
    try:
        for values in arguments:
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(function, values, passwords, send), daemon=True)
            process.start()
            send.close()
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
    results: dict[int, Any] = {}
    while len(results) < len(pipes):
        if time.monotonic() > deadline:
            raise too_late(timeout)
        waiting = {pipe: i for i, pipe in enumerate(pipes) if i not in results}
        for pipe in wait(list(waiting), POLL_SECONDS):
            i = waiting[pipe]  # type: ignore[index]
            try:
                outcome, value = pipes[i].recv()
            except EOFError:
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
    if exit_code is not None and exit_code < 0:
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
    secret.replace_with(passwords)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner handles Ctrl-C
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        message: tuple[str, Any] = ("result", function(*values))
    except KeybenchError as error:
        message = ("error", error)
    except Exception as error:  # a defect, or an exception that a driver does not document
        message = ("error", unexpected(error))
    pipe.send(message)
    pipe.close()
