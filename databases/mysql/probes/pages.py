"""The pages of a table's file on a server of keybench's own, and the probe of the key's index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import measured
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.container import KIND
from keybench.databases.mysql import ddl
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.probes.ibd_file import IndexPages, UnreadablePagesError, pages_of, summarise
from keybench.databases.mysql.probes.index_pages import index_pages
from keybench.databases.mysql.probes.tables import index_id, innodb_name, leaf_bytes, leaf_pages
from keybench.errors import EnvironmentMissing, ServerError
from keybench.locked_folder import base_directory, locked_folder
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import PAGE_HEADER
from keybench.pagemodels.innodb.server_pages import InnodbPages

_NO_FILES = "the pages are in the server's files, which keybench reads on its own private servers alone."
_NO_COUNT = (
    f"{_NO_FILES} It reads mysql.innodb_index_stats on others, which needs innodb_stats_persistent = ON and "
    "GRANT SELECT ON mysql.innodb_index_stats"
)


@contextmanager
def data_file(server: Queries, name: str) -> Iterator[Path | None]:
    """A file of the server's data directory for as long as the block lasts: a copy where it is in a container.

    None on somebody's own server. UnreadablePagesError where it cannot be copied.
    """
    parameters = server.address.parameters
    if "data" in parameters:
        yield Path(parameters["data"], name)
    elif KIND in parameters:
        with locked_folder(base_directory(), "copy") as folder:
            copy = folder / "copy"
            try:
                docker_daemon.copy_file(
                    parameters[KIND], f"{str(server.value('SELECT @@datadir')).rstrip('/')}/{name}", copy
                )
            except EnvironmentMissing as error:
                raise UnreadablePagesError(str(error)) from None
            yield copy
    else:
        yield None


@contextmanager
def flushed(server: Queries, table: Table) -> Iterator[NDArray[np.uint8] | None]:
    """All pages of the table's file in order, uint8 (n, page bytes); None on somebody's own server.

    FLUSH TABLES … FOR EXPORT writes them all to the file and locks the table until UNLOCK TABLES.
    """
    if not server.private:
        yield None
        return
    page_bytes = int(server.value("SELECT @@innodb_page_size"))
    server.rows(f"FLUSH TABLES {ddl.name(table)} FOR EXPORT")
    try:
        with data_file(server, f"{innodb_name(table)}.ibd") as file:
            yield pages_of(file, page_bytes) if file else None
    finally:
        server.rows("UNLOCK TABLES")


def read_index(server: Queries, table: Table) -> IndexPages | None:
    """The pages of the key's index; None on somebody's own server."""
    with flushed(server, table) as pages:
        return None if pages is None else summarise(pages, index_id(server, table))


def read_for_model(server: Queries, table: Table) -> InnodbPages | None:
    """All that the page model needs to go on from the key's index; None on somebody's own server."""
    with flushed(server, table) as pages:
        if pages is None:
            return None
        return index_pages(pages, summarise(pages, index_id(server, table)), table.column)


class PagesProbe(Probe):
    """Page structure of the key's index after the inserts: from the table's file, or leaves alone from statistics."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_FRAGMENTATION,
        Metric.LEAF_NONADJACENT,
        Metric.BRANCH_SPLITS,
    )

    def __init__(self, server: Queries) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """All of them, or why the pages cannot be read.

        Each level of branch pages begins with one page; a split made each of the others.
        """
        try:
            index = read_index(self._server, table)
        except (UnreadablePagesError, OSError) as error:
            return Reading.absent(self.supplies, f"the table's file cannot be read: {error}")
        if index is None:
            return self._counted(table)
        shares = index.density, index.fragmentation, index.nonadjacent
        splits = Reading(Metric.BRANCH_SPLITS, float(index.branch - index.height), "derived")
        return [*measured(self.supplies[:-1], (index.leaf, index.branch, *shares)), splits]

    def _counted(self, table: Table) -> Iterable[Reading]:
        """What somebody's server itself counts: leaves. Their density follows from InnoDB's sizes of the rows."""
        try:
            leaves, why = leaf_pages(self._server, table), "."
        except ServerError as error:
            leaves, why = None, f" ({error})."
        if leaves is None:
            return Reading.absent(self.supplies, _NO_COUNT + why)
        room = leaves * (int(self._server.value("SELECT @@innodb_page_size")) - PAGE_HEADER)
        known = {
            Metric.LEAF_PAGES: Reading(Metric.LEAF_PAGES, float(leaves), "measured"),
            Metric.LEAF_DENSITY: Reading(Metric.LEAF_DENSITY, 100 * leaf_bytes(self._server, table) / room, "derived"),
        }
        absent = {reading.metric: reading for reading in Reading.absent(self.supplies, _NO_FILES)}
        return [known.get(metric, absent[metric]) for metric in self.supplies]
