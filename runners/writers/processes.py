"""Processes that work for a trial: they end with the runner, and a hung or killed one is an error, never a short count.

They are started by a fork server: a fresh process costs some 20 ms, and threads of the runner (its progress display)
are never forked.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from keybench.errors import KeybenchError, ServerError, unexpected

POLL_SECONDS = 0.1

context: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
"""Where locks and arrays shared with workers are made."""

context.set_forkserver_preload(["keybench.cli", "keybench.runners.writers.preload", "psycopg", "apsw"])


class WorkerLost(ServerError):
    """A worker process ended without a result, or was ended because it took too long."""


def run_all(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    timeout: float,
    poll: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Calls `function(*arguments[i])` in a process each, all at once; the results in the order of the arguments.

    The first failure ends all of them and is raised: the worker's own KeybenchError, else a WorkerLost that names what
    happened. `poll` is called about ten times a second meanwhile.
    """
    processes, pipes = [], []
    try:
        for values in arguments:
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(function, values, send), daemon=True)
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
            raise WorkerLost(
                f"no result after {timeout:.0f} s: stopped. Give a longer --trial-timeout if it may take so long."
            )
        waiting = {pipe: i for i, pipe in enumerate(pipes) if i not in results}
        for pipe in wait(list(waiting), POLL_SECONDS):
            i = waiting[pipe]  # type: ignore[index]
            try:
                outcome, value = pipes[i].recv()
            except EOFError:
                processes[i].join()
                raise WorkerLost(
                    f"writer process {i + 1} of {len(pipes)} died ({_death(processes[i].exitcode)})."
                ) from None
            if outcome == "error":
                raise value
            results[i] = value
        poll()
    return [results[i] for i in range(len(pipes))]


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"signal {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _end_with_runner() -> None:
    """Ends this worker when the runner is gone, however it went. (The fork server outlives it while a worker lives.)"""
    runner = multiprocessing.parent_process()
    if runner is not None:
        wait([runner.sentinel])
        os._exit(1)


def _work(function: Callable[..., Any], values: tuple[Any, ...], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to handle
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        message: tuple[str, Any] = ("result", function(*values))
    except KeybenchError as error:
        message = ("error", error)
    except Exception as error:
        message = ("error", unexpected(error))
    pipe.send(message)
    pipe.close()
