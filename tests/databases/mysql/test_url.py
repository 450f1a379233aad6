"""Servers of one's own: reached by a URL, left as they were, and their password nowhere to be seen."""

import os
import pickle
import socket
import traceback
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from keybench.databases.engine import Table
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import connection
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.flavour import MARIADB
from keybench.databases.mysql.server import PrivateServer
from keybench.databases.mysql.url import address_of
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.results.metrics import Metric
from tests.databases.keys import increasing
from tests.databases.mysql.conftest import measured

PASSWORD = "s3cret/hunter:2 %@x"
SETTINGS = ENGINE.settings("durable", "small")
pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture(scope="module")
def owned() -> Iterator[MySqlAdmin]:
    """The administrator of a server that holds other people's tables and no database of keybench's."""
    if reason := ENGINE.missing("local"):
        pytest.skip(reason)
    server = PrivateServer(MARIADB, "local", SETTINGS)
    admin = MySqlAdmin(server.start())
    admin.rows("DROP DATABASE keybench")
    admin.rows("CREATE DATABASE theirs")
    admin.rows("CREATE TABLE theirs.orders (id INT PRIMARY KEY)")
    admin.rows("INSERT INTO theirs.orders VALUES (1), (2)")
    admin.rows("CREATE USER guest@localhost IDENTIFIED BY %s", [PASSWORD])
    admin.rows("CREATE USER stranger@localhost IDENTIFIED BY %s", [PASSWORD])
    admin.rows("GRANT ALL ON keybench.* TO guest@localhost")
    yield admin
    admin.close()
    server.stop()


@pytest.fixture
def guest(owned: MySqlAdmin) -> str:
    """The URL of a user who may work in the database keybench alone, without the password."""
    return f"mariadb://guest{{}}@localhost?unix_socket={owned.address.parameters['unix_socket']}"


def url(guest: str, password: str = PASSWORD) -> str:
    return guest.format(":" + quote(password, safe="")) if password else guest.format("")


def hidden(*shown: object) -> bool:
    text = "\n".join(str(part) for part in shown)
    return PASSWORD not in text and quote(PASSWORD, safe="") not in text


def databases(admin: MySqlAdmin) -> list[str]:
    return [row[0] for row in admin.rows("SHOW DATABASES")]


def test_the_password_goes_into_the_environment_and_nowhere_else(guest) -> None:
    provision = ENGINE.provision(url(guest), SETTINGS)
    address = provision.start()
    try:
        assert address.secret
        assert os.environ[address.secret.variable] == PASSWORD
        assert PASSWORD.encode() not in pickle.dumps(address)
        assert hidden(repr(address), address, vars(provision), repr(provision))
        assert (address.server, address.settings) == ("url", None)
        assert pickle.loads(pickle.dumps(address)) == address
        assert ENGINE.provision(url(guest), SETTINGS).start().secret == address.secret
    finally:
        provision.stop()


def test_urls_become_addresses() -> None:
    one, two = address_of(MARIADB, "mariadb://a:first@h"), address_of(MARIADB, "mysql://a@h?password=second")
    assert one.secret
    assert two.secret
    assert (one.secret.reveal(), two.secret.reveal()) == ("first", "second")
    assert address_of(MARIADB, "mysql://a@h:77").secret is None
    assert dict(address_of(MARIADB, "mysql://a%40b@h:77/keybench?ssl_ca=/ca").parameters) == {
        "user": "a@b",
        "host": "h",
        "port": "77",
        "ssl_ca": "/ca",
    }
    assert dict(address_of(MARIADB, "mysql://h").parameters) == {"host": "h", "port": "3306"}


def test_a_guest_works_in_a_database_of_its_own_which_goes_again(owned, guest) -> None:
    before = databases(owned), owned.rows("CHECKSUM TABLE theirs.orders"), owned.rows("SHOW GLOBAL VARIABLES")
    assert "keybench" not in before[0]
    provision = ENGINE.provision(url(guest), SETTINGS)
    address = provision.start()
    admin = MySqlAdmin(address)
    assert provision.alive()
    assert "keybench" in databases(owned)
    assert not admin.checkpoint()

    found = measured(admin, Table("trial", ENGINE.column("binary16"), 100), increasing(3000))
    assert found[Metric.INDEX_BYTES].origin == "measured"
    assert found[Metric.TABLE_BYTES].origin == "measured"
    assert found[Metric.LOG_BYTES].value > 0
    assert found[Metric.LEAF_PAGES].value is None
    assert found[Metric.SPLIT_COUNTER].reason.startswith("the counter of page splits cannot be read (MariaDB: Access ")
    admin.settle(Table("trial", ENGINE.column("binary16"), 100))
    admin.close()
    provision.stop()
    after = databases(owned), owned.rows("CHECKSUM TABLE theirs.orders"), owned.rows("SHOW GLOBAL VARIABLES")
    assert after == before
    provision.stop()


def test_a_database_that_was_there_stays(owned, guest) -> None:
    first, second = ENGINE.provision(url(guest), SETTINGS), ENGINE.provision(url(guest), SETTINGS)
    first.start()
    second.start()
    second.stop()
    assert "keybench" in databases(owned)
    first.stop()
    assert "keybench" not in databases(owned)


def failure(address: str, on: object = ENGINE) -> KeybenchError:
    with pytest.raises(KeybenchError) as caught:
        on.provision(address, SETTINGS).start()  # type: ignore[attr-defined]
    assert hidden(*traceback.format_exception(caught.value))
    return caught.value


def test_a_wrong_password_is_not_shown(guest) -> None:
    for wrong in (PASSWORD + "!", "!" + PASSWORD):
        error = failure(url(guest, wrong))
        assert isinstance(error, EnvironmentMissing)
        assert "Access denied for user 'guest'@'localhost' (using password: YES)" in str(error)
        assert wrong not in str(error)
        assert str(error).endswith("\nCheck host, port, user and password in the URL, and that the server is up.")


def test_a_user_who_may_create_nothing_is_told_what_to_ask_for(guest) -> None:
    error = failure(url(guest).replace("guest", "stranger"))
    assert isinstance(error, EnvironmentMissing)
    assert "refuses the database keybench: MariaDB: Access denied for user 'stranger'@'localhost'" in str(error)
    assert str(error).endswith(
        "\nLet its administrator run: CREATE DATABASE keybench; GRANT ALL ON keybench.* TO your_user;"
    )


def test_a_mariadb_asked_for_as_mysql_is_not_recorded_as_mysql(guest) -> None:
    error = failure(url(guest).replace("mariadb://", "mysql://"), MYSQL)
    assert isinstance(error, EnvironmentMissing)
    assert str(error).startswith("this server is MariaDB (10.")
    assert str(error).endswith(", not MySQL: use --db mariadb.")


def test_an_address_where_nothing_answers_names_host_and_port() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = failure(f"mariadb://guest:{quote(PASSWORD, safe='')}@127.0.0.1:{port}")
    assert isinstance(error, EnvironmentMissing)
    assert str(error).startswith(f"MariaDB at 127.0.0.1:{port} cannot be reached: ")
    assert "Connection refused" in str(error)


def test_a_server_that_never_answers_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        error = failure(f"mariadb://guest@127.0.0.1:{silent.getsockname()[1]}")
    assert isinstance(error, EnvironmentMissing)
    assert "timed out" in str(error)


@pytest.mark.parametrize("wrong", [f"mariadb://guest:{PASSWORD}@[::1/x", "mariadb://h:port", "mariadb://"])
def test_a_url_that_cannot_be_understood_is_not_repeated(wrong) -> None:
    error = failure(wrong)
    assert isinstance(error, UsageError)
    assert str(error) == (
        "the MariaDB URL cannot be understood: write mariadb://user@host:3306, special characters in user and "
        "password as %XX."
    )
    assert error.__context__ is None


def test_options_and_databases_that_are_not_ours_are_refused() -> None:
    assert str(failure("mariadb://h?colour=red")).startswith("MariaDB URL: unknown option colour. Known: ssl_ca, ")
    assert str(failure("mariadb://h/shop")) == (
        "MariaDB URL: keybench works in a database of its own, keybench: leave the one in the URL out."
    )
