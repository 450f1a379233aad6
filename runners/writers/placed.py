"""Where a run's writers work: here, or where `--executor` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from keybench.databases.core.coordination import HasCoordinationTable
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.runners.planning.plan import Request
from keybench.runners.planning.server_choice import is_url
from keybench.runners.writers.crews import LOCAL, Crew


def check(executor: str, servers: Mapping[str, str]) -> None:
    """UsageError where the executor's workers could not reach a server; for an address that can be none likewise."""
    if not executor:
        return
    from keybench.runners.writers import cluster

    cluster.check(executor)
    for name, server in servers.items():
        on = engine(name)
        if not isinstance(on, HasCoordinationTable):
            able = ", ".join(other.name for other in engines().values() if isinstance(other, HasCoordinationTable))
            raise UsageError(
                f"--executor: {on.title} is a file of one machine, which others cannot reach: choose by --db ({able})."
            )
        if not is_url(server):
            raise UsageError(
                f"--executor needs servers that the workers' machines can reach, and a server of the kind {server} of "
                f"{on.title} is this machine's own: give a URL, --server {on.url_schemes[0]}://user@host."
            )


@contextmanager
def crew_of(request: Request) -> Iterator[Crew]:
    """The crew of a run; EnvironmentMissing where its executor does not answer."""
    if not request.executor:
        yield LOCAL
        return
    from keybench.runners.writers.cluster import Cluster
    from keybench.runners.writers.executors import OnExecutor

    cluster = Cluster(request.executor)
    try:
        yield OnExecutor(cluster)
    finally:
        cluster.close()
