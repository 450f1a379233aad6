"""Keys that the server makes: rows are sent without them, and each row has one."""

import numpy as np
import pytest

from keybench.databases import mariadb
from keybench.databases.mysql import ddl
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import version_number
from keybench.databases.mysql.session import MySqlSession
from keybench.errors import ServerError, UsageError
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import ServerKeys, Table
from tests.databases.mysql.conftest import ON_MARIADB
from tests.errors import raised

ROWS = 2501
HERE = [made for made in mariadb.ENGINE.server_keys if made.min_version < 101_100]


def here(of: MySqlEngine) -> list[ServerKeys]:
    return HERE if of is mariadb.ENGINE else list(of.server_keys)


def table(of: MySqlEngine, made: ServerKeys, key: str = "clustered") -> Table:
    return Table("trial", of.column(made.column), 20, key, server_keys=made)  # type: ignore[arg-type]


def loaded(admin: MySqlAdmin, on: Table) -> np.ndarray:
    """The keys, in the order in which their rows arrived."""
    admin.create(on)
    session = MySqlSession(admin.address, on)
    try:
        batches = session.prepare_without_keys(Payload(20), 7, ROWS, 1000)
        assert [session.send(batch) for batch in batches] == [1000, 1000, 501]
    finally:
        session.close()
    by_payload = admin.rows(f"SELECT payload, HEX(`key`), `key` FROM {ddl.name(on)}")
    arrived = {row.tobytes().decode(): number for number, row in enumerate(Payload(20).rows(7, ROWS))}
    assert {payload for payload, *_ in by_payload} == set(arrived)
    return np.array([value for _, _, value in sorted(by_payload, key=lambda row: arrived[row[0]])])


def test_auto_increment_counts(engine, admin) -> None:
    made = loaded(admin, table(engine, HERE[0]))
    assert (made[0], np.diff(made).min() >= 1) == (1, True)


@ON_MARIADB
def test_uuid_is_of_version_1_and_ascends_in_a_uuid_column(admin) -> None:
    (made,) = [made for made in HERE if made.name == "server-uuid-v1"]
    texts = loaded(admin, table(mariadb.ENGINE, made))
    data = np.frombuffer(bytes.fromhex("".join(texts.tolist()).replace("-", "")), np.uint8).reshape(-1, 16)
    assert set(data[:, 6] >> 4) == {1}
    words = [tuple(row) for row in sort_words(Keys(data, "uuid"), "mariadb").tolist()]
    assert words == sorted(words)
    on = table(mariadb.ENGINE, made)
    assert [str(text) for (text,) in admin.rows(f"SELECT `key` FROM {ddl.name(on)} ORDER BY `key`")] == texts.tolist()


def test_a_nonclustered_index_of_guids_is_made_too(engine, admin) -> None:
    made = next(made for made in here(engine) if made.name.startswith("server-uuid-v1"))
    assert len(loaded(admin, table(engine, made, "nonclustered"))) == ROWS


@ON_MARIADB
@pytest.mark.parametrize("name", ["server-uuid-v4", "server-uuidv7"])
def test_a_server_that_is_too_old_says_so(admin, name: str) -> None:
    (made,) = [made for made in mariadb.ENGINE.server_keys if made.name == name]
    version = str(admin.value("SELECT version()"))
    if version_number(version) >= made.min_version:
        pytest.skip(f"this MariaDB is {version} and makes them")
    shown = ".".join(version.partition("-")[0].split("."))
    assert raised(ServerError, admin.create, table(mariadb.ENGINE, made)) == (
        f"{name} keys are made by MariaDB 11.7 and newer, and this server is {shown}: "
        "choose a newer --server, or the client's layout of the same kind."
    )


def test_a_second_auto_increment_is_refused(engine, admin) -> None:
    assert raised(UsageError, admin.create, table(engine, HERE[0], "nonclustered")) == (
        f"{engine.title} makes server-identity keys only where the key is the table's primary key, because a table has "
        'only one AUTO_INCREMENT: choose a scenario whose table has key = "clustered".'
    )


def test_versions_as_numbers() -> None:
    assert version_number("10.11.6-MariaDB-0+deb12u1") == 101_106
    assert version_number("11.8.2-MariaDB") == 110_802
    assert version_number("9.1") == 90_100
    assert version_number("unknown") == 0
