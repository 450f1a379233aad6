"""Every statement that is sent to a server, parsed where the parser can."""

from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp

from keybench.databases.contract.roles import Address
from keybench.databases.mssql import connection, container, ddl, settings
from keybench.databases.mssql.admin import MssqlAdmin
from keybench.databases.mssql.engine import ENGINE
from keybench.databases.mssql.owned import MARK, create_database
from keybench.databases.mssql.session import MssqlSession
from keybench.databases.mssql.settings import options
from keybench.databases.registry import scripts
from keybench.model.table import Table
from tests.databases import statements_sent
from tests.databases.mssql.recording import Record

OPAQUE = (
    "ALTER DATABASE",
    "ALTER INDEX",
    "EXEC ",
    "SET XACT_ABORT",
    "SET NOCOUNT",
    "CHECKPOINT",
    "RECONFIGURE",
    "UPDATE STATISTICS",
    "IF ",
)
"""Statements that sqlglot does not understand or misreads."""

ANSWERS = {
    "SELECT CAST(SERVERPROPERTY": [("16.0.4215.2", "Developer Edition (64-bit)", "Microsoft SQL Server 2022 (RTM)\n")],
    "SELECT compatibility_level": [(160, "SIMPLE", False, "OFF", False, "DISABLED", "CHECKSUM", "collation", False)],
    "SELECT index_id FROM sys.indexes": [(1,)],
    "SELECT num_of_bytes_written": [(0,)],
    "SELECT MAX([Current LSN])": [("00000023:00000108:0001",)],
    "SELECT page_count": [(1, 0.0, 0.0)],
    "SELECT index_id, SUM": [(1, 8192)],
    "SELECT SUM(ghost_record_count)": [(0,)],
    "SET NOCOUNT ON": [(0,)],
    "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE class = 0": [(MARK,)],
}
"""Not figures of a server: answers that let the code continue to its next statement."""


def everything(record: Record, address: Address) -> list[str]:
    """All statements of trials with each kind of table and key, and around them, each once, in order."""
    record.answers = {**ANSWERS, **statements_sent.ANSWERS}
    server = ENGINE.provision("mssql://bench@db.example", ENGINE.settings("durable", "default"))
    own = server.start()
    admin = MssqlAdmin(own)
    admin.versions(), admin.settings()
    tables = [
        Table("rows", ENGINE.column("uniqueidentifier"), 100),
        Table("rows", ENGINE.column("char36"), 0, "nonclustered"),
        Table("rows", ENGINE.column("bigint"), 100),
        Table("rows", ENGINE.column("uniqueidentifier"), 100, "by-date"),
        Table("rows", ENGINE.column("uniqueidentifier"), 100, "fk", children=2),
        *(Table("rows", ENGINE.column(made.column), 100, server_keys=made) for made in ddl.SERVER_KEYS),
    ]
    for table in tables:
        statements_sent.of_trial(admin, MssqlSession, table)
    admin.close()
    statements_sent.everything(ENGINE.coordination_table(own))
    server.stop()
    left = ENGINE.owned_schema("mssql://bench@db.example/theirs")
    left.contents(), left.remove(), left.close()
    master = connection.connect(address, "master")
    for versioning in ("rcsi", "snapshot", "adr"):
        create_database(master, options({"row_versioning": versioning}), "FORCED")
    for statement in settings.statements(ENGINE.settings("durable", "small")):
        master.run(statement.replace(ENGINE.settings("durable", "small").values["max_server_memory_mb"], "1024"))
    return list(dict.fromkeys(record.statements()))


def test_each_statement_parses_or_is_known_not_to(record: Record, address: Address) -> None:
    statements = everything(record, address)
    assert len(statements) > 50
    for statement in statements:
        if statement.startswith(OPAQUE) or "%%physloc%%" in statement:
            continue
        (tree,) = sqlglot.parse(statement.replace("?", "@p"), dialect="tsql")
        assert not isinstance(tree, exp.Command), statement
        assert isinstance(tree, exp.Select | exp.Insert | exp.Update | exp.Delete | exp.Create | exp.Drop), statement


@pytest.mark.parametrize("name", scripts("keybench.databases.mssql"))
def test_the_functions_parse(name: str) -> None:
    text = scripts("keybench.databases.mssql")[name].removesuffix("GO\n")
    assert f"CREATE OR ALTER {'VIEW' if name == 'vwNewGuid' else 'FUNCTION'} dbo.{name}" in text
    assert [type(tree) for tree in sqlglot.parse(text, dialect="tsql") if tree]


def test_queries_about_a_table_come_after_its_index_was_found(record: Record, address: Address) -> None:
    """OBJECT_ID of a table that is not there is NULL, which the server takes for every table."""
    everything(record, address)
    sent = record.statements()
    for place, statement in enumerate(sent):
        if "dm_db_index_" in statement:
            assert sent[place - 1].startswith(("SELECT index_id FROM sys.indexes", "SELECT SUM(ghost")), statement


def test_a_container_is_set_up_again_and_its_address_names_our_database(record: Record, address: Address) -> None:
    """Only on a server of ours: settings, then the database, whatever an unfinished attempt left there."""
    record.answers = {**ANSWERS, "SELECT name FROM sys.databases": [("keybench",)]}
    chosen = ENGINE.settings("fast", "small")
    ready = container.prepare(replace(address, server="container", settings=chosen))
    assert ready.parameters["database"] == "keybench"
    sent = record.statements()
    memory = f"EXEC sys.sp_configure N'max server memory (MB)', {chosen.values['max_server_memory_mb']}"
    order = [memory, "DROP DATABASE [keybench]", "CREATE DATABASE [keybench]"]
    order += ["ALTER DATABASE [keybench] SET DELAYED_DURABILITY = FORCED", "CREATE SCHEMA [keybench]"]
    assert [sent.index(statement) for statement in order] == sorted(sent.index(statement) for statement in order)
    sizes = [statement for statement in sent if "MODIFY FILE" in statement]
    assert ["SIZE = 1024MB" in sizes[0], "SIZE = 2048MB" in sizes[1]] == [True, True]
