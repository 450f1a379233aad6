"""Keys that the server makes: rows are sent without them, and each row has one."""

from contextlib import closing

import numpy as np
import pytest

from keybench.databases.postgresql import ddl as layout
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import ServerError
from keybench.model.payload import Payload
from keybench.model.table import ServerKeys, Table
from tests.errors import raised

ROWS = 2501


def loaded(admin: PostgresAdmin, name: str) -> np.ndarray:
    """Sends rows without keys. Returns their keys in the order in which the rows arrived."""
    (made,) = [made for made in ENGINE.server_keys if made.name == name]
    on = Table("trial", ENGINE.column(made.column), 20, server_keys=made)
    admin.create(on)
    session = ENGINE.session(admin.address, on)
    try:
        batches = session.prepare_without_keys(Payload(20), 7, ROWS, 1000)
        assert [session.send(batch) for batch in batches] == [1000, 1000, 501]
    finally:
        session.close()
    payloads = admin.rows(f"SELECT payload FROM {layout.name(on)} ORDER BY ctid")
    assert [text for (text,) in payloads] == [row.tobytes().decode() for row in Payload(20).rows(7, ROWS)]
    return np.concatenate(list(admin.stored_keys(on)))


def test_an_identity_counts(admin) -> None:
    assert np.array_equal(loaded(admin, "server-identity"), np.arange(1, ROWS + 1))


@pytest.mark.parametrize(("name", "version"), [("server-uuid-v4", 4), ("server-uuidv7", 7)])
def test_guids_have_their_version(embedded, name: str, version: int) -> None:
    with closing(PostgresAdmin(embedded)) as admin:
        assert set(loaded(admin, name)[:, 6] >> 4) == {version}


def test_a_server_that_is_too_old_says_so(admin) -> None:
    tomorrows = ServerKeys("server-tomorrow", "of a later version", "uuid", "rfc", "DEFAULT tomorrow()", 990_000)
    assert raised(ServerError, admin.create, Table("trial", ENGINE.column("uuid"), 20, server_keys=tomorrows)) == (
        f"server-tomorrow keys are made by PostgreSQL 99 and newer, and this server is {admin.version // 10_000}: "
        "choose a newer --server, or the client's layout of the same kind."
    )
