"""What each column stores and how the server orders it, against `byteorder`; sizes against the server's own."""

import re
from typing import Any

import numpy as np
import pytest

from keybench.databases.engine import Table
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import rows
from keybench.databases.mysql import table as layout
from keybench.databases.mysql.load import MySqlSession
from keybench.databases.mysql.probe import read_index
from keybench.databases.payload import Payload
from keybench.errors import ServerError, UsageError
from keybench.generators.byteorder import Keys, sort_words
from tests.databases.keys import adversarial, distinct, extremes, increasing, random, taken_by
from tests.databases.mysql.conftest import send


def version4(keys: Keys) -> Keys:
    """The same keys with version and variant, which MariaDB's `uuid` takes."""
    data = keys.data.copy()
    data[:, 6] = 0x40 | data[:, 6] & 0x0F
    data[:, 8] = 0x80 | data[:, 8] & 0x3F
    return Keys(data, "uuid")


def selected(admin: Any, table: Table, order: str) -> np.ndarray:
    """All keys in the server's order, as `Column.encode` gives them, one row each."""
    found = [row[0] for row in admin.rows(f"SELECT `key` FROM {layout.name(table)} ORDER BY {order}")]
    if table.column.form == "int":
        return np.array(found, np.int64)
    if rows.is_uuid(table.column):
        guids = np.array([list(bytes.fromhex(text.replace("-", ""))) for text in found], np.uint8)
        return table.column.encode(Keys(guids, "uuid"))
    parts = [key.encode() if isinstance(key, str) else key for key in found]
    return np.frombuffer(b"".join(parts), np.uint8).reshape(len(found), -1)


@pytest.mark.parametrize(("role", "path"), [("clustered", "load data"), ("nonclustered", "insert")])
@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_the_server_orders_a_column_as_byteorder_says(admin, column, role, path) -> None:
    sized, keys = taken_by(ENGINE.column(column), adversarial())
    keys = extremes() if sized.form == "int" else distinct(keys)
    keys = keys[np.flatnonzero(sized.accepts(keys))]
    assert len(keys) > (150 if sized.form == "int" else 1500)
    on = Table("trial", sized, 0, role)
    admin.create(on)
    assert send(admin.address, on, keys, path) == len(keys)

    expected = on.column.encode(keys)[np.lexsort(sort_words(keys, on.column.order).T[::-1])]
    assert np.array_equal(selected(admin, on, "`key`"), expected)
    assert np.array_equal(np.concatenate(list(admin.stored_keys(on))), expected)
    if role == "nonclustered":
        assert np.array_equal(selected(admin, on, "row_id"), on.column.encode(keys))  # in order of arrival


def test_the_uuid_column_refuses_what_byteorder_says_it_refuses(admin) -> None:
    on = Table("trial", ENGINE.column("uuid"), 0)
    admin.create(on)
    keys = adversarial()
    accepted = on.column.accepts(keys)
    assert 100 < accepted.sum() < len(keys) - 100
    sessions = [MySqlSession(admin.address, on, "insert"), MySqlSession(admin.address, on, "load data")]
    for i in np.flatnonzero(~accepted)[:100]:
        for session in sessions:
            (batch,) = session.prepare(keys[i : i + 1], Payload(0), 0, 1)
            with pytest.raises(ServerError, match=r"^MariaDB: Incorrect uuid value: "):
                session.send(batch)
    for session in sessions:
        session.close()
    taken = send(admin.address, on, keys[np.flatnonzero(accepted)])
    assert taken == accepted.sum() == admin.value(f"SELECT count(*) FROM {layout.name(on)}")


@pytest.mark.parametrize("on", [ENGINE, MYSQL])
def test_default_columns_go_by_order_and_never_stand_in(on) -> None:
    assert on.default_column("uuid", "rfc").name == "binary16"
    assert on.default_column("uuid", "net").name == "binary16-net"
    assert on.default_column("uuid", "mysql-swap").name == "binary16-swapped"
    assert on.default_column("uuid", "mssql").name == "binary16"
    assert on.default_column("uuid", "none").name == "binary16"
    assert on.default_column("int", "rfc").name == "bigint"
    assert on.default_column("bytes", "rfc").name == "binary"
    assert on.default_column("text", "none").name == "char"
    assert ("uuid" in {column.name for column in on.columns}) == (on is ENGINE)
    with pytest.raises(UsageError, match=rf"^unknown {on.name} column 'binary-16'\. Did you mean binary16"):
        on.column("binary-16")


@pytest.mark.parametrize("role", ["clustered", "nonclustered"])
@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
@pytest.mark.parametrize("payload", [0, 255, 256])
def test_sizes_of_records_are_the_servers(admin, column, role, payload) -> None:
    sized, keys = taken_by(ENGINE.column(column), version4(random(40)))
    on = Table("trial", sized, payload, role)
    admin.create(on)
    send(admin.address, on, keys)
    found = read_index(admin, on)
    assert found
    assert (found.leaf, found.branch) == (1, 0)
    size = layout.leaf_record(on.column, payload, role)
    assert found.density == pytest.approx(100 * 40 * size / layout.LEAF_BYTES, abs=1e-9)
    index, everything = ENGINE.bytes_per_row(on.column, payload, role)
    assert size < index < everything


def test_char36_default_has_the_servers_collation(admin) -> None:
    on = Table("trial", ENGINE.column("char36-default"), 0)
    admin.create(on)
    declared = admin.rows(f"SHOW CREATE TABLE {layout.name(on)}")[0][1]
    assert re.search(r"`key` char\(36\) NOT NULL", declared)
    assert "utf8mb4" in declared
    assert admin.value("SELECT 'a' = 'A' COLLATE " + admin.settings()["collation_server"]) == 1
    assert send(admin.address, on, increasing(10)) == 10
