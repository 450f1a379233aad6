"""URLs of PostgreSQL; the behaviour of all engines is in `test_guests.py`."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.keys import increasing
from keybench.databases.postgresql.admin import PostgresAdmin, Schema
from keybench.databases.postgresql.connection import address_of, connect
from keybench.databases.postgresql.engine import ENGINE
from keybench.databases.postgresql.inspection import PostgresInspector
from keybench.errors import EnvironmentMissing
from keybench.model.metric import Metric
from keybench.model.table import Table
from tests.databases.failures import PASSWORD, QUOTED, failure
from tests.databases.loading import measured
from tests.databases.postgresql.owner import Owner
from tests.errors import raised

SETTINGS = ENGINE.settings("durable", "small")
pytestmark = pytest.mark.usefixtures("environment")


def test_passwords_of_two_servers_are_kept_apart() -> None:
    one, two = address_of("postgresql://a:first@h/d", {}), address_of("postgres://a@h/d?password=second", {})
    assert (one.secret.reveal(), two.secret.reveal()) == ("first", "second")
    assert address_of("postgresql://a@h:77/d", {}).secret is None
    assert dict(address_of("postgresql://a@h:77/d?sslmode=require", {}).parameters) == {
        "user": "a",
        "host": "h",
        "port": "77",
        "dbname": "d",
        "sslmode": "require",
    }


def test_a_server_that_never_answers_is_given_up_after_five_seconds(silent_port: int, monkeypatch) -> None:
    from keybench.databases.postgresql import connection

    monkeypatch.setattr(connection, "CONNECT_SECONDS", 2)  # the least that the library accepts
    error = failure(ENGINE, f"postgresql://guest@127.0.0.1:{silent_port}/guests")
    assert "timeout expired" in str(error)


def test_a_second_secret_is_refused() -> None:
    error = failure(ENGINE, "postgresql://guest@h/d?sslpassword=" + QUOTED)
    assert str(error) == ("sslpassword in a URL is not supported: use a service file.")


@pytest.fixture
def guest(embedded: Address) -> Iterator[Owner]:
    """A user's own server, and what a guest may read there."""
    owner = Owner(embedded, PASSWORD)
    yield owner
    owner.close()


def test_a_guest_gets_sizes_order_and_log_but_no_pages(guest: Owner) -> None:
    provision = ENGINE.provision(guest.url(PASSWORD), SETTINGS)
    admin = PostgresAdmin(provision.start())
    try:
        assert not admin.checkpoint()
        found = measured(admin, Table("trial", ENGINE.column("uuid"), 100), increasing(3000))
    finally:
        admin.close()
        provision.stop()
    assert found[Metric.INDEX_BYTES].origin == "measured"
    assert found[Metric.TABLE_BYTES].origin == "measured"
    assert found[Metric.LOG_BYTES].value > 0
    assert found[Metric.LEAF_PAGES].value is None
    assert found[Metric.LEAF_PAGES].reason == (
        "this user may read neither index pages nor the server's files: "
        "connect as a superuser to have page counts, density and fragmentation."
    )
    assert found[Metric.APPENDS].reason.startswith("the log of this server cannot be read: ")


def test_a_database_that_is_not_there(guest: Owner) -> None:
    assert 'database "nowhere" does not exist' in str(
        failure(ENGINE, guest.url(PASSWORD).replace("/guests?", "/nowhere?"))
    )


def test_stop_clears_up_although_the_server_has_ended_the_connection(guest: Owner) -> None:
    provision = ENGINE.provision(guest.url(PASSWORD), SETTINGS)
    provision.start()
    guest.psql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'keybench' "
        "AND datname = 'guests'"
    )
    assert guest.place_is_there()
    provision.stop()
    assert not guest.place_is_there()


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/05/28 17:00:00, go1.23.7)",
         "CockroachDB (CockroachDB CCL v25.2.1)"),
        ("PostgreSQL 15.2-YB-2025.1.0.1-b3 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6",
         "YugabyteDB (PostgreSQL 15.2-YB-2025.1.0.1-b3)"),
    ],
)  # fmt: skip
def test_servers_that_only_speak_its_protocol_are_refused(version: str, shown: str, embedded: Address) -> None:
    """A real PostgreSQL whose `version()` answers in the form that these systems have."""
    with closing(connect(embedded)) as server:
        server.execute("CREATE SCHEMA another")
        server.execute(f"CREATE FUNCTION another.version() RETURNS text LANGUAGE sql AS $$ SELECT '{version}' $$")
        try:
            parameters = {**embedded.parameters, "options": "-csearch_path=another,pg_catalog"}
            for begin in (Schema, PostgresInspector):
                assert raised(EnvironmentMissing, begin, replace(embedded, server="url", parameters=parameters)) == (
                    f"this server is {shown}, not PostgreSQL, and keybench has no adapter of it: give the URL of a "
                    "PostgreSQL."
                )
        finally:
            server.execute("DROP SCHEMA another CASCADE")
