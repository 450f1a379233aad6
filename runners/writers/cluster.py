"""A Dask cluster's workers as places of writers.

A writer is a process: of a worker process with several threads one is used, for threads would wait for one another.
Each writer is bound to a worker, so that Dask moves it nowhere; a worker that leaves takes its writer with it. What
Dask runs again nevertheless finds at the board that it has begun before.
"""

from __future__ import annotations

import importlib
import logging
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from keybench.errors import EnvironmentMissing, UsageError
from keybench.runners.writers.executors import too_few
from keybench.runners.writers.processes import WorkerLost
from keybench.runners.writers.remote import Outcome

CONNECT_SECONDS = 5
WAIT_SECONDS = 10.0
"""How long a worker that was lost may take to be there again, started anew by its nanny."""
SCHEMES = ("tcp://", "tls://")


class Cluster:
    """The workers of the scheduler at an address."""

    def __init__(self, address: str) -> None:
        """UsageError for no address, EnvironmentMissing where the package is missing or nobody answers."""
        check(address)
        distributed = _package()
        problem: EnvironmentMissing | None = None
        with _quiet():
            try:
                self._client: Any = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
            except (OSError, TimeoutError, ValueError, RuntimeError) as error:
                problem = EnvironmentMissing(
                    f"no Dask scheduler answers at {address} within {CONNECT_SECONDS} s "
                    f"({type(error).__name__}): check the address, and that `dask scheduler` is up there."
                )
        if problem:
            raise problem
        self.title = f"the Dask cluster at {address}"
        self._address = address
        self._chosen: list[str] = []
        self._known = 0

    def submitters(self, count: int) -> Sequence[Callable[[bytes], Future[Outcome]]]:
        """One for each of as many workers. A worker that was there before is waited for."""
        end = time.monotonic() + WAIT_SECONDS
        while len(found := self._workers()) < count <= self._known and time.monotonic() < end:
            time.sleep(0.2)
        self._known = max(self._known, len(found))
        if len(found) < count:
            raise too_few(
                count, len(found), self.title,
                f"start more (`dask worker {self._address} --nworkers {count} --nthreads 1`), or use fewer writers.",
            )  # fmt: skip
        self._chosen = found[:count]
        return [self._submitter(worker) for worker in self._chosen]

    def lost(self) -> frozenset[int]:
        """Workers that have left the cluster."""
        there = set(self._workers())
        return frozenset(i for i, worker in enumerate(self._chosen) if worker not in there)

    def close(self) -> None:
        """Leaves the cluster as it was."""
        with _quiet():
            self._client.close(timeout=CONNECT_SECONDS)

    def _workers(self) -> list[str]:
        try:
            return sorted(self._client.scheduler_info()["workers"])
        except (OSError, RuntimeError, TimeoutError) as error:
            problem = WorkerLost(
                f"{self.title} does not answer any more ({type(error).__name__}): see the scheduler's log."
            )
        raise problem

    def _submitter(self, worker: str) -> Callable[[bytes], Future[Outcome]]:
        def submit(call: bytes) -> Future[Outcome]:
            bound = {"workers": [worker], "allow_other_workers": False}
            executor = self._client.get_executor(pure=False, retries=0, **bound)
            # Scattered: Dask warns of large arguments, which a day's arrival times are.
            there = self._client.scatter(call, workers=[worker], hash=False)
            future: Future[Outcome] = executor.submit(pickle.loads, there)
            return future

        return submit


def check(address: str) -> None:
    """UsageError for what cannot be the address of a scheduler; EnvironmentMissing without the package."""
    host, colon, port = address.partition("://")[2].rpartition(":")
    if not address.startswith(SCHEMES) or not colon or not host or not port.isdigit():
        raise UsageError(
            f"--executor {address}: write the address of a Dask scheduler, tcp://host:port, as `dask scheduler` "
            "prints it."
        )
    _package()


def _package() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise EnvironmentMissing(
            "--executor needs the Python package distributed: pip install 'keybench[cluster]'."
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without distributed's own lines about connections that were refused or are closing."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
