"""Servers of one's own: reached by a URL, left as they were, and their password nowhere to be seen."""

import os
import pickle
import socket
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from keybench.databases.engine import Address, Table
from keybench.databases.postgresql import ENGINE
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.url import address_of
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.results.metrics import Metric
from tests.databases.postgresql.conftest import increasing, measured

PASSWORD = "s3cret/hunter:2 %@x"
SETTINGS = ENGINE.settings("durable", "small")
pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture(scope="module")
def guest(embedded: Address) -> Iterator[str]:
    """The URL, without password, of a database whose owner must give a password and is no superuser."""
    admin = PostgresAdmin(embedded)
    rules = Path(embedded.parameters["data"]) / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text("local all guest scram-sha-256\n" + before)
    admin.rows("SELECT pg_reload_conf()")
    literal = PASSWORD.replace("'", "''")
    admin.rows(f"CREATE ROLE guest LOGIN PASSWORD '{literal}'")
    admin.rows("CREATE DATABASE guests OWNER guest")
    yield f"postgresql://guest{{}}@/guests?host={embedded.parameters['host']}&port=5432"
    admin.rows("DROP DATABASE guests WITH (FORCE)")
    admin.rows("DROP ROLE guest")
    rules.write_text(before)
    admin.rows("SELECT pg_reload_conf()")
    admin.close()


def url(guest: str, password: str = PASSWORD) -> str:
    return guest.format(":" + quote(password, safe="")) if password else guest.format("")


def hidden(*shown: object) -> bool:
    text = "\n".join(str(part) for part in shown)
    return PASSWORD not in text and quote(PASSWORD, safe="") not in text


def test_the_password_goes_into_the_environment_and_nowhere_else(guest) -> None:
    provision = ENGINE.provision(url(guest), SETTINGS)
    address = provision.start()
    try:
        assert address.secret
        assert os.environ[address.secret.variable] == PASSWORD
        assert address.secret.variable.startswith("KEYBENCH_PASSWORD_")
        assert PASSWORD.encode() not in pickle.dumps(address)
        assert hidden(repr(address), address, vars(provision), repr(provision))
        assert (address.server, address.settings) == ("url", None)
        assert pickle.loads(pickle.dumps(address)) == address
        again = ENGINE.provision(url(guest), SETTINGS)
        assert again.start().secret == address.secret  # the same password, no second one
        again.stop()
    finally:
        provision.stop()


def test_passwords_of_two_servers_are_kept_apart() -> None:
    one, two = address_of("postgresql://a:first@h/d"), address_of("postgres://a@h/d?password=second")
    assert one.secret
    assert two.secret
    assert (one.secret.reveal(), two.secret.reveal()) == ("first", "second")
    assert address_of("postgresql://a@h:77/d").secret is None
    assert dict(address_of("postgresql://a@h:77/d?sslmode=require").parameters) == {
        "user": "a",
        "host": "h",
        "port": "77",
        "dbname": "d",
        "sslmode": "require",
    }


def test_a_guest_works_in_a_schema_of_its_own_which_goes_again(guest) -> None:
    provision = ENGINE.provision(url(guest), SETTINGS)
    address = provision.start()
    admin = PostgresAdmin(address)
    schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1"
    assert provision.alive()
    assert [row[0] for row in admin.rows(schemas)] == ["information_schema", "keybench", "public"]
    assert not admin.checkpoint()

    found = measured(admin, Table("trial", ENGINE.column("uuid"), 100), increasing(3000))
    assert found[Metric.INDEX_BYTES].origin == "measured"
    assert found[Metric.TABLE_BYTES].origin == "measured"
    assert found[Metric.HEAP_CORRELATION].value == pytest.approx(1)
    assert found[Metric.LOG_BYTES].value > 0
    assert found[Metric.LEAF_PAGES].value is None
    assert found[Metric.LEAF_PAGES].reason == (
        "this user may read neither index pages nor the server's files: "
        "connect as a superuser to have page counts, density and fragmentation."
    )
    assert found[Metric.APPENDS].reason.startswith("the log of this server cannot be read: ")
    provision.stop()
    assert [row[0] for row in admin.rows(schemas)] == ["information_schema", "public"]
    provision.stop()
    admin.close()


def test_a_schema_that_was_there_stays(guest) -> None:
    first, second = ENGINE.provision(url(guest), SETTINGS), ENGINE.provision(url(guest), SETTINGS)
    admin = PostgresAdmin(first.start())
    second.start()
    second.stop()
    assert admin.value("SELECT to_regnamespace('keybench') IS NOT NULL")
    first.stop()
    assert not admin.value("SELECT to_regnamespace('keybench') IS NOT NULL")
    admin.close()


def test_the_end_of_one_run_leaves_the_tables_of_another(guest) -> None:
    first, second = ENGINE.provision(url(guest), SETTINGS), ENGINE.provision(url(guest), SETTINGS)
    first.start()
    admin = PostgresAdmin(second.start())
    admin.create(Table("trial", ENGINE.column("uuid"), 100))
    first.stop()
    assert admin.value("SELECT to_regclass('keybench.trial') IS NOT NULL")
    second.stop()
    assert not admin.value("SELECT to_regnamespace('keybench') IS NOT NULL")
    admin.close()


def test_a_schema_that_its_owner_made_stays_and_so_does_what_is_in_it(guest) -> None:
    provision = ENGINE.provision(url(guest), SETTINGS)
    owner = PostgresAdmin(address_of(url(guest)))
    owner.rows("CREATE SCHEMA keybench CREATE TABLE trial (id int, key uuid)")
    admin = PostgresAdmin(provision.start())
    admin.create(Table("rows", ENGINE.column("bigint"), 0))
    provision.stop()
    assert owner.rows("SELECT relname FROM pg_class WHERE relnamespace = 'keybench'::regnamespace") == [("trial",)]
    owner.rows("DROP SCHEMA keybench CASCADE")
    owner.close()
    admin.close()


def failure(address: str) -> KeybenchError:
    with pytest.raises(KeybenchError) as caught:
        ENGINE.provision(address, SETTINGS).start()
    assert hidden(*traceback.format_exception(caught.value))
    assert hidden(caught.value.__cause__)
    return caught.value


def test_a_wrong_password_is_not_shown(guest) -> None:
    for wrong in (PASSWORD + "!", "!" + PASSWORD):
        error = failure(url(guest, wrong))
        assert isinstance(error, EnvironmentMissing)
        assert 'password authentication failed for user "guest"' in str(error)
        assert wrong not in str(error)
        assert str(error).endswith(
            "\nCheck host, port, user, password and database in the URL, and that the server is up."
        )


def test_an_address_where_nothing_answers_names_host_and_port() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = failure(f"postgresql://guest:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/guests")
    assert isinstance(error, EnvironmentMissing)
    assert str(error).startswith(f"PostgreSQL at 127.0.0.1:{port} cannot be reached: ")
    assert "Connection refused" in str(error)


def test_a_server_that_never_answers_is_given_up_after_five_seconds(monkeypatch) -> None:
    from keybench.databases.postgresql import connection

    monkeypatch.setattr(connection, "CONNECT_SECONDS", 2)  # the least that the library accepts
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        error = failure(f"postgresql://guest@127.0.0.1:{silent.getsockname()[1]}/guests")
    assert "timeout expired" in str(error)


def test_a_database_that_is_not_there(guest) -> None:
    assert 'database "nowhere" does not exist' in str(failure(url(guest).replace("/guests?", "/nowhere?")))


@pytest.mark.parametrize("wrong", [f"postgresql://guest:{PASSWORD}@[::1/x", "postgresql://h:1/d?nonsense=1"])
def test_a_url_that_cannot_be_understood_is_not_repeated(wrong) -> None:
    error = failure(wrong)
    assert isinstance(error, UsageError)
    assert str(error) == (
        "the PostgreSQL URL cannot be understood: write postgresql://user@host:5432/database, "
        "special characters in a password as %XX."
    )
    assert error.__context__ is None


def test_a_second_secret_is_refused() -> None:
    error = failure("postgresql://guest@h/d?sslpassword=" + quote(PASSWORD, safe=""))
    assert str(error) == ("sslpassword in a URL is not supported: use a client key without one, or a service file.")
