"""What each column stores and how the server orders it, against `byteorder`; sizes against the server's own."""

import re

import pytest

from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ddl
from keybench.databases.mysql.probes import read_index
from keybench.errors import ServerError
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import LEAF_BYTES, key_bytes, leaf_record
from tests.databases.loading import send
from tests.databases.mysql.conftest import of_each
from tests.errors import raised


def version4(keys: Keys) -> Keys:
    """The same keys with version and variant, which MariaDB's `uuid` takes."""
    data = keys.data.copy()
    data[:, 6] = 0x40 | data[:, 6] & 0x0F
    data[:, 8] = 0x80 | data[:, 8] & 0x3F
    return Keys(data, "uuid")


@pytest.mark.parametrize("role", ["clustered", "nonclustered"])
@of_each("column, payload", lambda of: [*((on.name, 0) for on in of.columns), ("binary16", 255), ("binary16", 256)])
def test_sizes_of_records_are_the_servers(engine, admin, column, role, payload) -> None:
    sized, keys = taken_by(engine.column(column), version4(random(40)))
    on = Table("trial", sized, payload, role)
    admin.create(on)
    send(admin.address, on, keys)
    index_pages = read_index(admin, on)
    assert (index_pages.leaf, index_pages.branch) == (1, 0)
    size = leaf_record(key_bytes(on.column), payload, role)
    assert index_pages.density == pytest.approx(100 * 40 * size / LEAF_BYTES, abs=1e-9)
    index, everything = engine.bytes_per_row(on.column, payload, role)
    assert size < index < everything


def test_char36_default_has_the_servers_collation(admin) -> None:
    on = Table("trial", ENGINE.column("char36-default"), 0)
    admin.create(on)
    declared = admin.rows(f"SHOW CREATE TABLE {ddl.name(on)}")[0][1]
    assert re.search(r"`key` char\(36\) NOT NULL", declared)
    assert "utf8mb4" in declared
    assert admin.value("SELECT 'a' = 'A' COLLATE " + admin.settings()["collation_server"]) == 1
    assert send(admin.address, on, increasing(10)) == 10


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("10.6.22-MariaDB", "has no type uuid"),
        ("10.7.1-MariaDB", "sorts its type uuid in another order than newer ones (MDEV-29959)"),
        ("10.11.4-MariaDB-1~deb12u1", "sorts its type uuid in another order than newer ones (MDEV-29959)"),
        ("11.0.2-MariaDB", "sorts its type uuid in another order than newer ones (MDEV-29959)"),
        ("10.11.5-MariaDB", ""),
        ("11.0.3-MariaDB", ""),
        ("11.8.3-MariaDB-ubu2404", ""),
    ],
)
def test_a_mariadb_whose_uuid_is_another_is_refused_with_the_column_to_take(version: str, problem: str) -> None:
    ddl.check(Table("trial", ENGINE.column("binary16"), 0), version)
    if not problem:
        ddl.check(Table("trial", ENGINE.column("uuid"), 0), version)
        return
    said = raised(ServerError, ddl.check, Table("trial", ENGINE.column("uuid"), 0), version)
    assert said == f"this MariaDB ({version}) {problem}: choose a newer --server, or --column binary16."
