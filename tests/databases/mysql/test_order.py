"""What each column stores and how the server orders it, against `byteorder`; sizes against the server's own."""

import re

import pytest

from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import ddl
from keybench.databases.mysql.probes.pages import read_index
from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import LEAF_BYTES, leaf_record
from keybench.testing.contract.keys import increasing, random, taken_by
from tests.databases.mysql.conftest import send


def version4(keys: Keys) -> Keys:
    """The same keys with version and variant, which MariaDB's `uuid` takes."""
    data = keys.data.copy()
    data[:, 6] = 0x40 | data[:, 6] & 0x0F
    data[:, 8] = 0x80 | data[:, 8] & 0x3F
    return Keys(data, "uuid")


@pytest.mark.parametrize("on", [ENGINE, MYSQL])
def test_default_columns_have_the_layouts_order_and_never_imitate_another_server(on) -> None:
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
@pytest.mark.parametrize(
    ("column", "payload"), [*((column.name, 0) for column in ENGINE.columns), ("binary16", 255), ("binary16", 256)]
)
def test_sizes_of_records_are_the_servers(admin, column, role, payload) -> None:
    sized, keys = taken_by(ENGINE.column(column), version4(random(40)))
    on = Table("trial", sized, payload, role)
    admin.create(on)
    send(admin.address, on, keys)
    index_pages = read_index(admin, on)
    assert index_pages
    assert (index_pages.leaf, index_pages.branch) == (1, 0)
    size = leaf_record(on.column, payload, role)
    assert index_pages.density == pytest.approx(100 * 40 * size / LEAF_BYTES, abs=1e-9)
    index, everything = ENGINE.bytes_per_row(on.column, payload, role)
    assert size < index < everything


def test_char36_default_has_the_servers_collation(admin) -> None:
    on = Table("trial", ENGINE.column("char36-default"), 0)
    admin.create(on)
    declared = admin.rows(f"SHOW CREATE TABLE {ddl.name(on)}")[0][1]
    assert re.search(r"`key` char\(36\) NOT NULL", declared)
    assert "utf8mb4" in declared
    assert admin.value("SELECT 'a' = 'A' COLLATE " + admin.settings()["collation_server"]) == 1
    assert send(admin.address, on, increasing(10)) == 10
