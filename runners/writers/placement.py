"""Where the writers of a run work: on this machine, or on the workers that `--executor` names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from keybench.databases.core.coordination import HasCoordinationTable
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.url import is_url
from keybench.runners.planning.trial_plan import Request
from keybench.runners.writers.pool import LOCAL, WriterPool


def check(executor: str, servers: Mapping[str, str]) -> None:
    """UsageError if the executor's address is malformed, or if its workers cannot reach one of the servers.

    `servers` are kinds or URLs by database.
    """
    if not executor:
        return
    from keybench.runners.writers import dask_cluster  # needs a package that not everybody has

    dask_cluster.check(executor)
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
    from keybench.runners.writers.dask_cluster import DaskCluster
    from keybench.runners.writers.executor import ExecutorPool

    cluster = DaskCluster(request.executor)
    try:
        yield ExecutorPool(cluster)
    finally:
        cluster.close()
