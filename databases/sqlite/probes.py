"""Probes: exact page figures from dbstat, and the counters of the loading connections."""

import json
from collections.abc import Callable, Iterable, Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import PAGE_STRUCTURE, SIZES, measured
from keybench.databases.sqlite.connection import TableFiles
from keybench.databases.sqlite.ddl import Statements
from keybench.databases.sqlite.pages import FRAME_HEADER, LEAF_HEADER
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.page_stats import LeafOrder

Open = Callable[[Table], apsw.Connection]


class PagesProbe(Probe):
    """Pages of the key's b-tree, and sizes. Path order in dbstat is the order of a depth-first walk, which is key order
    for the leaves."""

    supplies: Sequence[Metric] = (*PAGE_STRUCTURE, *SIZES)

    def __init__(self, connection: Open) -> None:
        self._connection = connection

    def after(self, table: Table) -> Iterable[Reading]:
        """The readings, from dbstat, SQLite's virtual table with a row for each page."""
        connection, sql = self._connection(table), Statements(table)
        numbers, _, unused = leaves(connection, sql.tree)
        branches = connection.execute(
            "SELECT count(*) FROM dbstat WHERE name = ? AND pagetype = 'internal'", (sql.tree,)
        ).get  # the one value
        order = LeafOrder.from_chain(numbers)
        room = int(connection.pragma("page_size")) - LEAF_HEADER
        density = 100 * (1 - unused.sum() / (len(numbers) * room))
        yield from measured(PAGE_STRUCTURE, (len(numbers), branches, density, order.back_links, order.nonadjacent))
        sizes = tree_bytes(connection, sql.tree), sum(tree_bytes(connection, name) for name in sql.trees)
        yield from measured(SIZES, sizes)


class LogProbe(Probe):
    """Bytes of WAL frames (pages that the loading connections wrote to the WAL, times the size of a frame), and pages
    that they read. SQLite counts pages per connection (SQLITE_DBSTATUS_CACHE_WRITE, …_MISS). Each session writes its
    counts to a file when it closes. The 32 bytes at each restart of the WAL are not included."""

    supplies: Sequence[Metric] = (Metric.LOG_BYTES, Metric.PAGES_READ)

    def __init__(self, files: Callable[[str], TableFiles], page_bytes: int) -> None:
        self._files = files
        self._frame_bytes = page_bytes + FRAME_HEADER

    def before(self, table: Table) -> None:
        """Removes older counts."""
        for path in self._files(table.name).counters():
            path.unlink()

    def after(self, table: Table) -> Iterable[Reading]:
        """The sum over all sessions that have closed."""
        texts = [path.read_text(encoding="ascii") for path in self._files(table.name).counters()]
        counts = [json.loads(text) for text in texts if text]
        if not counts or len(counts) < len(texts):
            yield from Reading.absent(self.supplies, "a loading connection left no count of the pages that it wrote.")
            return
        yield Reading(Metric.PAGES_READ, float(sum(count["missed"] for count in counts)), "measured")
        if any(count["spilled"] for count in counts):
            yield from Reading.absent(
                [Metric.LOG_BYTES],
                "the cache was too small for a transaction, so pages were written in the middle of it, and such frames "
                "may be overwritten: SQLite's counters do not show the growth of the WAL.",
            )
        else:
            pages = sum(count["written"] for count in counts)
            yield Reading(Metric.LOG_BYTES, float(pages * self._frame_bytes), "measured")


def leaves(connection: apsw.Connection, name: str) -> NDArray[np.int64]:
    """(3, n): page number, cells and unused bytes of the leaves of one b-tree in key order."""
    rows = "SELECT pageno, ncell, unused FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
    return np.array(connection.execute(rows, (name,)).fetchall(), np.int64).T


def tree_bytes(connection: apsw.Connection, name: str) -> int:
    """Bytes of all pages of one b-tree, including overflow pages."""
    return int(connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name = ?", (name,)).get)
