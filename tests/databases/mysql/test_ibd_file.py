"""Index structure on a live server, against closed forms, the server's own statistics and its counters."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from keybench.databases.contract_suite.keys import descending, increasing, lagging, random
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ddl
from keybench.databases.mysql import ibd_file as pages
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.probes import PagesProbe, data_file, index_id, innodb_name, read_index
from keybench.databases.mysql.session import MySqlSession
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table
from tests.databases.loading import as_url, measured, send
from tests.databases.mysql.conftest import of_each
from tests.parameters import first

ROWS = 60_000


def table(column: str = "binary16", payload: int = 0, role: str = "clustered") -> Table:
    return Table("trial", ENGINE.column(column), payload, role)  # type: ignore[arg-type]


def values(found: Mapping[Metric, Reading]) -> dict[Metric, float]:
    return {metric: reading.value for metric, reading in found.items() if reading.value is not None}


def statistics(admin: MySqlAdmin, on: Table) -> dict[str, int]:
    """The server's own statistics of the key's index, counted, not sampled."""
    return dict(
        admin.rows(
            "SELECT stat_name, stat_value FROM mysql.innodb_index_stats WHERE database_name = %s AND table_name = %s "
            "AND index_name = %s AND stat_name IN ('n_leaf_pages', 'size')",
            ddl.SCHEMA,
            on.name,
            ddl.index_name(on),
        )
    )


def test_with_payload_increasing_keys_fill_93_per_cent(engine, admin) -> None:
    figures = values(measured(admin, table(payload=100), increasing(ROWS)))
    assert figures[Metric.LEAF_PAGES] == pytest.approx(ROWS / 112, abs=2)
    assert 92.5 < figures[Metric.LEAF_DENSITY] < 93.5
    a_row = 173 if engine is ENGINE else 181  # docs/internals/innodb.md §8
    assert figures[Metric.LOG_BYTES] == pytest.approx(a_row * ROWS, rel=0.03)


@pytest.mark.parametrize(
    "keys", first(2, [lagging(ROWS), increasing(1), increasing(ROWS), random(ROWS), descending(20_000)])
)
@pytest.mark.parametrize("role", ["clustered", "nonclustered"])
def test_the_file_agrees_with_the_servers_statistics(admin, keys, role) -> None:
    on = table(payload=30, role=role)
    figures = values(measured(admin, on, keys))
    reported = statistics(admin, on)
    assert figures[Metric.LEAF_PAGES] == reported["n_leaf_pages"]
    assert figures[Metric.INDEX_BYTES] == 16_384 * reported["size"]
    assert figures[Metric.TABLE_BYTES] >= figures[Metric.INDEX_BYTES]
    assert figures[Metric.INDEX_BYTES] >= 16_384 * (figures[Metric.LEAF_PAGES] + figures[Metric.BRANCH_PAGES])


@of_each(
    "column, payload, role",
    lambda of: [("binary16", 0, "clustered"), ("char36-default", 300, "clustered"),
                ("uuid" if of is ENGINE else "char36", 100, "nonclustered"), ("binary16", 30, "fk"),
                ("bigint", 200, "by-date")],
)  # fmt: skip
@pytest.mark.parametrize("rows", [1, 9000])
def test_the_leaves_of_a_users_own_server_are_those_of_its_file(
    admin, address, rows: int, column: str, payload: int, role: str
) -> None:
    """By the server's statistics, where its files are out of reach."""
    outside = MySqlAdmin(as_url(address))
    try:
        on = Table("odd name", ENGINE.column(column), payload, role, children=2 if role == "fk" else 1)  # type: ignore[arg-type]
        numbers = np.random.Generator(np.random.PCG64(3)).permutation(rows)
        keys = Keys(numbers, "int") if column == "bigint" else random(rows)
        if column == "uuid":  # MariaDB refuses some GUIDs in such a column
            keys = Keys(keys.data & 0x7F, "uuid")
        admin.create(on)
        with closing(MySqlSession(admin.address, on)) as session:
            payloads = Payload(payload, np.arange(rows) if role == "by-date" else None)
            assert sum(map(session.send, session.prepare(keys, payloads, 0, 1000))) == rows
        for each in (on, *on.other_indexes.values()):
            inside, seen = (
                {reading.metric: reading for reading in PagesProbe(server).after(each)} for server in (admin, outside)
            )
            assert seen[Metric.LEAF_PAGES] == inside[Metric.LEAF_PAGES]
            assert seen[Metric.LEAF_DENSITY].value == pytest.approx(inside[Metric.LEAF_DENSITY].value, 1e-12)
            assert seen[Metric.LEAF_DENSITY].origin == "derived"
        outside.drop(on)
    finally:
        outside.close()


def test_a_user_who_may_not_read_statistics_is_told_what_to_grant(engine, admin, address) -> None:
    admin.rows("CREATE USER reader@localhost")
    try:
        admin.rows("GRANT ALL ON keybench.* TO reader@localhost")
        own = as_url(address)
        reader = MySqlAdmin(replace(own, parameters={**own.parameters, "user": "reader"}))
        try:
            readings = {reading.metric: reading for reading in _pages_of(reader)}
        finally:
            reader.close()
    finally:
        admin.rows("DROP USER reader@localhost")
    name = "`mysql`.`innodb_index_stats`" if engine is ENGINE else "'innodb_index_stats'"
    assert readings[Metric.LEAF_PAGES].reason == (
        "the pages are in the server's files, which keybench reads on its own private servers alone. It reads "
        "mysql.innodb_index_stats on others, which needs innodb_stats_persistent = ON and GRANT SELECT ON "
        f"mysql.innodb_index_stats ({engine.title}: SELECT command denied to user 'reader'@'localhost' for table "
        f"{name})."
    )


def _pages_of(server: MySqlAdmin) -> list[Reading]:
    server.create(table())
    send(server.address, table(), random(100))
    return list(PagesProbe(server).after(table()))


def test_a_users_own_server_gives_counters_sizes_and_leaves_but_no_page_order(address) -> None:
    outside = MySqlAdmin(as_url(address))
    try:
        readings = measured(outside, table(), random(5000))
        assert {m for m, r in readings.items() if r.value is None} == {
            Metric.BRANCH_PAGES,
            Metric.LEAF_FRAGMENTATION,
            Metric.LEAF_NONADJACENT,
            Metric.BRANCH_SPLITS,
        }
        assert readings[Metric.BRANCH_PAGES].reason == (
            "the pages are in the server's files, which keybench reads on its own private servers alone."
        )
        outside.rows("SET GLOBAL innodb_monitor_disable = 'index_page_splits'")
        stopped = measured(outside, table(), random(10))
        assert stopped[Metric.SPLIT_COUNTER].reason == (
            "the server does not count page splits: SET GLOBAL innodb_monitor_enable = 'module_index' does."
        )
    finally:
        outside.rows("SET GLOBAL innodb_monitor_enable = 'index_page_splits'")
        outside.close()


def test_an_incomplete_index_is_refused(admin) -> None:
    on = table()
    admin.create(on)
    send(admin.address, on, random(5000))
    assert read_index(admin, on)
    index = index_id(admin, on)
    with data_file(admin, f"{innodb_name(on)}.ibd") as file:
        content = np.fromfile(file, np.uint8).reshape(-1, 16_384)
    whole = pages.summarise(content, index)
    assert whole.leaf > 10
    with pytest.raises(UnreadableError, match=r"^the file holds no page of index 999999\.$"):
        pages.summarise(content, 999_999)
    leaves = [
        n for n in range(len(content)) if content[n, 64:66].sum() == 0 and content[n, 24:26].tobytes() == b"\x45\xbf"
    ]
    leaves = [n for n in leaves if int.from_bytes(content[n, 66:74].tobytes()) == index]
    assert len(leaves) == whole.leaf
    first = next(n for n in leaves if content[n, 8:12].tobytes() == b"\xff" * 4)
    inner = next(n for n in leaves if n != first)
    refused = rf"^level 0 of the index is not a chain of {whole.leaf} pages\.$"
    for page, field, value in ((inner, slice(None), 0), (inner, slice(8, 12), 255), (first, slice(12, 16), 255)):
        torn = content.copy()
        torn[page, field] = value
        with pytest.raises(UnreadableError, match=refused):
            pages.summarise(torn, index)


def test_free_pages_with_old_contents_are_not_counted(admin) -> None:
    on = table()
    admin.create(on)
    send(admin.address, on, random(20_000))
    read_index(admin, on)  # writes everything to the file
    index = index_id(admin, on)
    with data_file(admin, f"{innodb_name(on)}.ibd") as file:
        content = np.fromfile(file, np.uint8).reshape(-1, 16_384)
    whole = pages.summarise(content, index)
    free = [n for n in range(len(content)) if not content[n, 24:26].any()][:3]
    assert len(free) == 3, "a file grows by whole extents"
    chain = whole.levels[0]

    def number(page: int) -> np.ndarray:
        return np.array([page], ">u4").view(np.uint8)

    # Seen in a branch level of a table of two million rows: one that was the first, and two that
    # still know each other.
    for page, before, after in (
        (free[0], 0xFFFFFFFF, chain[1]),
        (free[1], chain[0], free[2]),
        (free[2], free[1], chain[5]),
    ):
        content[page] = content[chain[1]]
        content[page, 4:8], content[page, 8:12], content[page, 12:16] = number(page), number(before), number(after)
    again = pages.summarise(content, index)
    assert again == whole
    assert np.array_equal(again.levels[0], chain)
