"""The workers of a Dask cluster, each of which takes one writer.

A writer is a process. A worker process with several threads also takes only one writer, because its threads would wait
for one another.
Each writer is bound to its worker, so that Dask does not move it; a worker that leaves takes its writer with it. If
Dask runs a task again nevertheless, the task sees in the coordination table that it has begun before.
"""

import importlib
import logging
import pickle
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import Any

from keybench.databases.core.coordination import HasCoordinationTable
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model import url
from keybench.model.url import is_url
from keybench.runners.planning.trial_plan import Request
from keybench.runners.writers.executor import ExecutorPool, too_few_workers
from keybench.runners.writers.processes import LOCAL, Outcome, WorkerLost, WriterPool

CONNECT_SECONDS = 5
WAIT_SECONDS = 10.0
"""How long a lost worker may take to come back, restarted by its nanny."""
SCHEMES = ("tcp", "tls")


class DaskCluster:
    """The workers of the scheduler at an address, as `ExecutorSlots`."""

    def __init__(self, address: str) -> None:
        """UsageError for a malformed address, EnvironmentMissing if the package is missing or nobody answers."""
        check_address(address)
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
        self._chosen: list[str] = []  # addresses of the workers that `submitters` chose last
        self._most_workers = 0  # the most that were there at one time

    def submitters(self, count: int) -> Sequence[Callable[[bytes], Future[Outcome]]]:
        """One function for each of `count` workers, which submits a call to it (`ExecutorSlots.submitters`). Waits for
        workers that were there before, at most `WAIT_SECONDS`. UsageError if there are too few."""
        end = time.monotonic() + WAIT_SECONDS
        while len(workers := self._workers()) < count <= self._most_workers and time.monotonic() < end:
            time.sleep(0.2)
        self._most_workers = max(self._most_workers, len(workers))
        if len(workers) < count:
            raise too_few_workers(
                count, len(workers), self.title,
                f"start more (`dask worker {self._address} --nworkers {count} --nthreads 1`), or use fewer writers.",
            )  # fmt: skip
        self._chosen = workers[:count]
        return [self._submitter(worker) for worker in self._chosen]

    def lost(self) -> frozenset[int]:
        """Which of the workers chosen last have left the cluster, by their index."""
        present = set(self._workers())
        return frozenset(i for i, worker in enumerate(self._chosen) if worker not in present)

    def close(self) -> None:
        """Disconnects; the cluster goes on."""
        with _quiet():
            self._client.close(timeout=CONNECT_SECONDS)

    def _workers(self) -> list[str]:
        """The addresses of the cluster's workers. WorkerLost if the scheduler does not answer."""
        try:
            about_cluster = self._client.scheduler_info()
            if "workers" in about_cluster:
                return sorted(about_cluster["workers"])
            reason = "it has ended"  # the client has lost its connection, and knows nothing of the cluster
        except (OSError, RuntimeError, TimeoutError) as error:
            reason = type(error).__name__
        raise WorkerLost(f"{self.title} no longer answers ({reason}): see the scheduler's log.")

    def _submitter(self, worker: str) -> Callable[[bytes], Future[Outcome]]:
        """A function that submits a call to that worker alone: if it is lost, no other one makes the call again."""

        def submit(pickled_call: bytes) -> Future[Outcome]:
            bound = {"workers": [worker], "allow_other_workers": False}
            executor = self._client.get_executor(pure=False, retries=0, **bound)
            # Dask warns about large arguments, such as the arrival times of a day. Scattered data causes no warning.
            data = self._client.scatter(pickled_call, workers=[worker], hash=False)
            future: Future[Outcome] = executor.submit(pickle.loads, data)  # unpickling makes the call: `remote.Call`
            return future

        return submit


def check_address(address: str) -> None:
    """UsageError if the address cannot be that of a scheduler; EnvironmentMissing if the package is missing."""
    parts = url.parse(address)
    host, _, port = parts.hosts.rpartition(":") if parts else ("", "", "")
    # nothing but scheme, host and port: no user, path or options
    plain = parts is not None and parts.scheme in SCHEMES and address == f"{parts.scheme}://{host}:{port}"
    if not plain or not host or not port or "," in host:  # a comma: several hosts
        # shown without a password; a text that may hold one in an unknown place is not shown
        shown = url.shown(address) if parts or re.fullmatch(r"[\w.-]+(:\w*)?", address) else f"{url.scheme(address)}…"
        raise UsageError(
            f"--executor {shown}: write the address of a Dask scheduler, tcp://host:port, as `dask scheduler` prints "
            "it."
        )
    _package()


def _package() -> Any:
    """The module `distributed`, which is optional; EnvironmentMissing without it."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise EnvironmentMissing(
            "--executor needs the Python package distributed: pip install 'keybench[cluster]'."
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences distributed's log messages about connections that were refused or are closing."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def check_executor(executor: str, servers: Mapping[str, str]) -> None:
    """UsageError if the executor's address is malformed, or if its workers cannot reach one of the servers. `servers`
    are kinds or URLs by database."""
    if not executor:
        return
    check_address(executor)
    for name, server in servers.items():
        on = engine(name)
        if not isinstance(on, HasCoordinationTable):
            able = ", ".join(other.name for other in engines().values() if isinstance(other, HasCoordinationTable))
            raise UsageError(
                f"--executor: {on.title} is a file on one machine, which other machines cannot reach: choose another "
                f"--db ({able})."
            )
        if not is_url(server):
            raise UsageError(
                f"--executor needs servers that the workers' machines can reach, and the {server} server of {on.title} "
                f"can be reached from this machine only: give a URL, --server {on.url_schemes[0]}://user@host."
            )


@contextmanager
def writer_pool(request: Request) -> Iterator[WriterPool]:
    """The pool of a run; EnvironmentMissing if its executor does not answer."""
    if not request.executor:
        yield LOCAL
        return
    with closing(DaskCluster(request.executor)) as cluster:
        yield ExecutorPool(cluster)
