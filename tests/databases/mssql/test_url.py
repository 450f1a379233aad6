"""Users' own servers: how they are reached, the message where they are not, and that no password is shown."""

import time
from collections.abc import Iterator
from unittest.mock import Mock

import mssql_python
import pytest

from keybench.databases.mssql import connection, owned
from keybench.databases.mssql.admin import MssqlAdmin
from keybench.databases.mssql.engine import ENGINE
from keybench.databases.mssql.settings import address_of
from keybench.errors import EnvironmentMissing, ServerError
from tests.databases.failures import PASSWORD, QUOTED, failure, hidden
from tests.databases.mssql.recording import Record, ServerSaysNo
from tests.databases.mssql.test_statements import ANSWERS
from tests.errors import raised

SETTINGS = ENGINE.settings("durable", "small")
pytestmark = pytest.mark.usefixtures("environment")


def test_urls_become_addresses() -> None:
    address = address_of(f"mssql://a%40b:{QUOTED}@h:77/shop?fill_factor=80", {})
    assert address.secret.reveal() == PASSWORD
    assert {name: address.parameters[name] for name in ("user", "host", "port", "database", "fill_factor")} == {
        "user": "a@b", "host": "h", "port": "77", "database": "shop", "fill_factor": "80"
    }  # fmt: skip
    assert hidden(repr(address), address, vars(ENGINE.provision(f"mssql://a:{QUOTED}@h", SETTINGS)))
    plain = address_of("sqlserver://h", {})
    assert (plain.secret, plain.parameters["port"], "database" in plain.parameters) == (None, "1433", False)
    assert "Trusted_Connection={yes}" in connection.connection_string(plain, "master")


def test_unknown_options_and_other_databases_are_refused() -> None:
    assert str(failure(ENGINE, "mssql://h?colour=red")).startswith(
        "SQL Server URL: unknown option colour. Known: before_2012, beneath, "
    )
    for name in ("tempdb", "Master"):
        assert str(failure(ENGINE, f"mssql://h/{name}")) == (
            f"SQL Server URL: {name} is the server's own database: name another, or none, and keybench makes one."
        )
    assert str(failure(ENGINE, "mssql://h/shop?row_versioning=rcsi")) == (
        "SQL Server URL: row_versioning is a setting of the whole database shop, which is not changed: name no "
        "database, and keybench makes one."
    )


def test_a_silent_port_is_given_up_within_the_login_timeout(silent_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOGIN_SECONDS", 1)
    begin = time.monotonic()
    error = failure(ENGINE, f"mssql://sa:{QUOTED}@127.0.0.1:{silent_port}")
    assert time.monotonic() - begin < 3
    assert isinstance(error, EnvironmentMissing)
    assert str(error).startswith(f"SQL Server at 127.0.0.1:{silent_port} cannot be reached: ")
    assert "imeout" in str(error)
    assert str(error).endswith("\nCheck host, port, user, password and database in the URL, and that the server is up.")


def test_mssql_python_without_its_libraries_says_how_to_install_them(record: Record, monkeypatch) -> None:
    error = mssql_python.OperationalError("Connection operation failed", "Failed to load the driver. Please read")
    monkeypatch.setattr(record, "connect", Mock(side_effect=error))
    assert str(failure(ENGINE, "mssql://sa@h")) == (
        "mssql-python cannot load its ODBC driver: install the system libraries that it needs (apt-get install "
        "libltdl7 libkrb5-3 libgssapi-krb5-2)."
    )


def test_the_message_for_a_missing_driver_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "installed", lambda: False)
    assert str(failure(ENGINE, "mssql://h")).startswith("SQL Server needs a driver: pip install 'keybench[mssql]'")


def test_a_wrong_password_gives_the_servers_message_without_the_password(record: Record, monkeypatch) -> None:
    refusal = ServerSaysNo(f"Login failed for user 'sa'. ({PASSWORD})")
    monkeypatch.setattr(record, "connect", Mock(side_effect=refusal))
    error = failure(ENGINE, f"mssql://sa:{QUOTED}@db.example")
    assert str(error) == (
        "SQL Server at db.example:1433 cannot be reached: Login failed for user 'sa'. (***).\n"
        "Check host, port, user, password and database in the URL, and that the server is up."
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[23000] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]Cannot insert [x]. (2627) (SQLExecDirectW)",
         "Cannot insert [x]. (2627) (SQLExecDirectW)"),
        ("Driver Error: Timeout expired; DDBC Error: [Microsoft]Timeout Error: Timeout", "Timeout Error: Timeout"),
        ("Driver Error: Connection is closed", "Driver Error: Connection is closed"),
        ("", "Exception"),
    ],
)  # fmt: skip
def test_messages_are_shown_without_the_names_of_the_layers(text: str, shown: str) -> None:
    assert connection.MssqlConnection.error_text(Exception(text) if text else Exception()) == shown


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Could not allocate space for object 'k' in database 'keybench' because the 'PRIMARY' filegroup is full.",
         True),
        ("The transaction log for database 'keybench' is full due to 'ACTIVE_TRANSACTION'.", True),
        ("Incorrect syntax near 'x'.", False),
    ],
)  # fmt: skip
def test_a_full_disk_has_a_next_step(record: Record, address, text: str, step: bool) -> None:
    record.refuse["INSERT"] = text
    said = raised(ServerError, connection.connect(address).run, "INSERT INTO t VALUES (1)")
    assert said == f"SQL Server: {text}" + (f" {connection.MssqlConnection.when_full}" if step else "")


@pytest.fixture
def answering(record: Record) -> Iterator[Record]:
    record.answers = dict(ANSWERS)
    return record


def test_without_a_database_one_is_made_and_dropped(answering: Record) -> None:
    server = ENGINE.provision("mssql://bench@db.example", SETTINGS)
    address = server.start()
    assert address.parameters["database"] == "keybench"
    databases = [arguments[0].partition("DATABASE=")[2].partition(";")[0] for arguments, _ in answering.connected]
    assert databases == ["{master}", "{keybench}"]
    assert "CREATE DATABASE [keybench]" in answering.statements()
    answering.calls.clear()
    server.stop()
    assert answering.statements()[-2:] == [
        "ALTER DATABASE [keybench] SET SINGLE_USER WITH ROLLBACK IMMEDIATE",
        "DROP DATABASE [keybench]",
    ]
    answering.calls.clear()
    server.stop()
    assert answering.calls == []


def test_a_database_that_cannot_be_finished_is_dropped_again(answering: Record) -> None:
    answering.refuse["ALTER DATABASE [keybench] SET"] = "no such statement."
    error = failure(ENGINE, "mssql://bench@db.example")
    assert str(error).startswith(
        "SQL Server at db.example:1433 does not let keybench create its schema or tables: SQL Server: no such statement"
    )
    assert answering.statements()[-1] == "DROP DATABASE [keybench]"
    answering.answers["SELECT name FROM sys.databases"] = [("keybench",)]
    for class_of_database in ("sys", "[keybench].sys"):  # a killed run left it so
        marks = f"SELECT CAST(value AS nvarchar(100)) FROM {class_of_database}.extended_properties WHERE class = 0"
        answering.answers[marks] = [(owned.UNFINISHED,)]
    left = ENGINE.owned_schema("mssql://bench@db.example")
    assert left.contents() == ["database keybench"]
    answering.refuse.clear()
    answering.calls.clear()
    ENGINE.provision("mssql://bench@db.example", SETTINGS).start()
    made = [text for text in answering.statements() if text.startswith(("CREATE DATABASE", "DROP DATABASE"))]
    assert made == ["DROP DATABASE [keybench]", "CREATE DATABASE [keybench]"]


def test_a_database_that_another_run_is_making_is_left_alone(answering: Record) -> None:
    answering.answers["SET NOCOUNT ON"] = [(-1,)]
    assert "another run of keybench is using it" in str(failure(ENGINE, "mssql://bench@db.example"))
    assert not [text for text in answering.statements() if text.startswith(("CREATE", "DROP"))]


@pytest.mark.parametrize(("rows", "before"), [([], 0), ([(-999,)], 1), ([(0,)], 2)])
def test_a_lock_is_taken_only_where_the_server_says_so(answering: Record, rows: list[tuple[int]], before: int) -> None:
    """Empty results and messages may come before the answer."""
    answering.answers["SET NOCOUNT ON"] = rows
    answering.empty_results = before
    assert ENGINE.owned_schema("mssql://bench@db.example/shop").in_use() == (rows != [(0,)])


@pytest.mark.parametrize("described", ["Microsoft SQL Server 2014 (SP3) - 12.0.6024.0 (X64)", "Another make 12.0"])
def test_an_old_sql_server_is_refused_and_another_make_tried(answering: Record, described: str) -> None:
    answering.answers["SELECT CAST(SERVERPROPERTY"] = [("12.0.6024.0", "Express", described)]
    server = ENGINE.provision("mssql://bench@db.example", SETTINGS)
    if described.startswith("Another"):
        assert MssqlAdmin(server.start()).versions()["server"] == described
        return
    assert str(failure(ENGINE, "mssql://bench@db.example")) == (
        "SQL Server at db.example:1433 is version 12.0.6024.0: keybench's tables need SQL Server 2019 or later, for "
        "OPTIMIZE_FOR_SEQUENTIAL_KEY."
    )


def test_a_refused_connection_is_called_so(free_port: int) -> None:
    assert ": nothing listens there (" in str(failure(ENGINE, f"mssql://sa@127.0.0.1:{free_port}"))


def test_in_a_named_database_only_the_schema_is_made_and_dropped(answering: Record) -> None:
    mine = "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE class = "
    answering.answers[f"{mine}0"] = []
    answering.answers[f"{mine}3"] = [(owned.MARK,)]
    answering.answers["SELECT o.name"] = [("keybench_rows", 8192, 1), ("theirs", 8192, 0)]
    server = ENGINE.provision("mssql://bench@db.example/shop", SETTINGS)
    server.start()
    server.stop()
    changing = [s for s in answering.statements() if s.startswith(("CREATE", "DROP", "ALTER", "EXEC"))]
    assert [statement.partition(" @")[0] for statement in changing] == [
        "CREATE SCHEMA [keybench]",
        "EXEC sys.sp_addextendedproperty",
        "DROP TABLE [keybench].[keybench_rows]",
        "DROP SCHEMA [keybench]",
    ]


def test_an_existing_schema_stays(answering: Record) -> None:
    for part in ("0", "3"):
        answering.answers[f"SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE class = {part}"] = []
    answering.answers["SELECT name FROM sys.schemas"] = [("keybench",)]
    server = ENGINE.provision("mssql://bench@db.example/shop", SETTINGS)
    server.start()
    server.stop()
    assert not [s for s in answering.statements() if s.startswith(("CREATE", "DROP", "ALTER", "EXEC"))]


def test_a_second_run_is_kept_out_and_clean_leaves_it_alone(answering: Record) -> None:
    answering.answers["SET NOCOUNT ON"] = [(-1,)]
    error = failure(ENGINE, "mssql://bench@db.example/shop")
    assert str(error) == (
        "SQL Server at db.example:1433: another run of keybench is using it, and both would use the same tables.\n"
        "Wait until that run has ended, or choose another --server."
    )
    assert answering.names()[-1] == "close"
    left = ENGINE.owned_schema("mssql://bench@db.example/shop")
    assert left.in_use()
    assert left.remove() == []


def test_a_user_without_rights_gets_a_next_step(answering: Record) -> None:
    answering.refuse["CREATE DATABASE"] = "CREATE DATABASE permission denied in database 'master'."
    assert str(failure(ENGINE, "mssql://bench@db.example")) == (
        "SQL Server at db.example:1433 does not let keybench create its schema or tables: SQL Server: CREATE DATABASE "
        "permission denied in database 'master'.\n"
        "Let its administrator make a database for you, as its owner, and name it in the URL."
    )
