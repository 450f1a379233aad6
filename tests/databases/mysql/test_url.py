"""URLs of MySQL and MariaDB; the behaviour of all engines is in `test_guests.py`."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from keybench.databases.contract_suite.keys import increasing
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import connection
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.connection import address_of
from keybench.databases.mysql.flavour import MARIADB
from keybench.errors import EnvironmentMissing, ServerError
from keybench.model.metric import Metric
from keybench.model.table import Table
from tests.databases.failures import PASSWORD, failure
from tests.databases.loading import measured
from tests.databases.mysql.owner import Owner

SETTINGS = ENGINE.settings("durable", "small")
pytestmark = pytest.mark.usefixtures("environment")


def test_urls_become_addresses() -> None:
    one, two = address_of(MARIADB, "mariadb://a:first@h", {}), address_of(MARIADB, "mysql://a@h?password=second", {})
    assert (one.secret.reveal(), two.secret.reveal()) == ("first", "second")
    assert address_of(MARIADB, "mysql://a@h:77", {}).secret is None
    assert dict(address_of(MARIADB, "mysql://a%40b@h:77/keybench?ssl_ca=/ca", {}).parameters) == {
        "user": "a@b",
        "host": "h",
        "port": "77",
        "ssl_ca": "/ca",
    }
    assert dict(address_of(MARIADB, "mysql://h", {}).parameters) == {"host": "h", "port": "3306"}


def test_a_silent_server_is_given_up(silent_port: int, monkeypatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    error = failure(ENGINE, f"mariadb://guest@127.0.0.1:{silent_port}")
    assert isinstance(error, EnvironmentMissing)
    assert "timed out" in str(error)


def test_unknown_options_and_other_databases_are_refused() -> None:
    assert str(failure(ENGINE, "mariadb://h?colour=red")).startswith(
        "MariaDB URL: unknown option colour. Known: ssl_ca, "
    )
    assert str(failure(ENGINE, "mariadb://h/shop")) == (
        "MariaDB URL: keybench works in a database of its own, keybench: leave the one in the URL out."
    )


@pytest.fixture
def guest(servers) -> Iterator[Owner]:
    """A user's own server, and what a guest may read there."""
    owner = Owner(servers.address(ENGINE, "local"), PASSWORD)
    yield owner
    owner.close()


def test_a_url_server_gives_sizes_and_log_but_no_pages(guest: Owner) -> None:
    provision = ENGINE.provision(guest.url(PASSWORD), SETTINGS)
    admin = MySqlAdmin(provision.start())
    try:
        assert not admin.checkpoint()
        given = measured(admin, Table("trial", ENGINE.column("binary16"), 100), increasing(3000))
        admin.settle(Table("trial", ENGINE.column("binary16"), 100))
    finally:
        admin.close()
        provision.stop()
    assert given[Metric.INDEX_BYTES].origin == "measured"
    assert given[Metric.TABLE_BYTES].origin == "measured"
    assert given[Metric.LOG_BYTES].value > 0
    assert given[Metric.LEAF_PAGES].value is None
    assert given[Metric.SPLIT_COUNTER].reason.startswith("the counter of page splits cannot be read (MariaDB: Access ")


def test_a_mariadb_asked_for_as_mysql_is_not_recorded_as_mysql_but_cleaned(guest: Owner) -> None:
    url = guest.url(PASSWORD).replace("mariadb://", "mysql://")
    error = failure(MYSQL, url)
    assert isinstance(error, EnvironmentMissing)
    assert str(error).startswith("this server is MariaDB (1")
    assert str(error).endswith(", not MySQL: use --db mariadb.")
    with closing(MYSQL.owned_schema(url)) as left:
        assert left.place.startswith("MariaDB at ")
        assert (left.in_use(), left.contents(), left.remove()) == (False, [], [])


def test_an_object_that_refers_to_a_trials_table_is_not_removed(guest: Owner) -> None:
    for statement in (
        "CREATE DATABASE keybench",
        "CREATE TABLE keybench.trial (`key` int PRIMARY KEY) COMMENT = 'a trial of keybench, which removes it'",
        "CREATE TABLE theirs.refers (id int, FOREIGN KEY (id) REFERENCES keybench.trial (`key`))",
    ):
        guest.admin.rows(statement)
    before = guest.dump()
    try:
        with closing(ENGINE.owned_schema(guest.url(PASSWORD))) as left, pytest.raises(ServerError) as refused:
            left.remove()
        assert "foreign key constraint" in str(refused.value)
        assert str(refused.value).endswith(": see to that object, then clean again.")
        assert guest.dump() == before
    finally:
        guest.admin.rows("DROP TABLE theirs.refers")
        guest.admin.rows("DROP DATABASE keybench")
