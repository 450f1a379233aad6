"""The statements sent to Oracle, and the readings made of its documented answers."""

from dataclasses import replace

import numpy as np
import oracledb
import pytest
import sqlglot
from sqlglot import exp

from keybench.databases.contract.roles import Address, Secret
from keybench.databases.contract_suite.keys import random, taken_by
from keybench.databases.oracle import container, ddl, probes
from keybench.databases.oracle.admin import OracleAdmin
from keybench.databases.oracle.engine import ENGINE
from keybench.databases.oracle.session import OracleSession
from keybench.databases.oracle.settings import options
from keybench.errors import ServerError, UsageError
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.table import Table
from tests.databases import statements_sent
from tests.databases.oracle.recording import Record
from tests.errors import raised

TABLE = Table("rows", ENGINE.column("raw16"), 100)
STATISTICS = [(name, 10) for name in probes.NAMES]
OPAQUE = ("ANALYZE", "BEGIN", "COMMIT", "LOCK TABLE", "ALTER", "GRANT", "CREATE BIGFILE", "CREATE USER", "DROP")
"""Statements that sqlglot does not understand, like those of index-organised tables."""


def everything(record: Record, address: Address, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All statements of trials with each kind of table and key, and around them, each once, in order."""
    record.answers = {"SELECT n.name": STATISTICS, "SELECT height": [(2, 9, 3, 90, 100, 1)]}
    record.answers |= statements_sent.ANSWERS
    record.answers["SELECT segment_name"] = [("rows", 8192), ("rows_key", 8192)]
    server = ENGINE.provision("oracle://keybench@db.example/FREEPDB1", ENGINE.settings("durable", "default"))
    own = server.start()
    admin = OracleAdmin(own)
    admin.versions(), admin.settings()
    tables = [
        TABLE,
        Table("rows", ENGINE.column("char36"), 0, "nonclustered"),
        Table("rows", ENGINE.column("number"), 5000, "nonclustered"),
        Table("rows", ENGINE.column("raw16"), 100, "by-date"),
        Table("rows", ENGINE.column("raw16"), 100, "fk", children=2),
        *(Table("rows", ENGINE.column(made.column), 100, server_keys=made) for made in ddl.SERVER_KEYS),
    ]
    for table in tables:
        statements_sent.of_trial(admin, OracleSession, table)
    admin.close()
    statements_sent.everything(ENGINE.coordination_table(own))
    record.answers["SELECT o.object_name"] = [("keybench_rows", 0, 1), ("keybench_lock", 0, 1)]
    server.stop()
    left = ENGINE.owned_schema("oracle://keybench@db.example/FREEPDB1")
    left.contents(), left.remove(), left.close()
    record.answers = {container.SMALL_LOGS_IN_USE: [(1,)], container.SMALL_LOGS: [(1,), (2,)]}
    record.answers[container.USER_EXISTS] = [("KEYBENCH",)]
    monkeypatch.setenv("ORACLES_PASSWORD", "")
    secret, chosen = Secret("ORACLES_PASSWORD"), ENGINE.settings("fast", "small")
    container.prepare(replace(address, server="container", settings=chosen, secret=secret))
    return list(dict.fromkeys(record.statements()))


def test_each_statement_parses_or_is_known_not_to(record: Record, address: Address, monkeypatch) -> None:
    statements = everything(record, address, monkeypatch)
    assert len(statements) > 40
    for statement in statements:
        if not statement.startswith(OPAQUE) and "ORGANIZATION INDEX" not in statement:
            (tree,) = sqlglot.parse(statement, dialect="oracle")
            assert isinstance(tree, exp.Select | exp.Insert | exp.Update | exp.Delete | exp.Create), statement


def test_a_container_gets_large_logs_and_a_user_with_few_rights(record: Record, address: Address, monkeypatch) -> None:
    monkeypatch.setenv("ORACLES_PASSWORD", "secret")
    record.answers = {container.SMALL_LOGS: [(1,), (2,)]}
    chosen = ENGINE.settings("durable", "default")
    ready = container.prepare(replace(address, server="container", settings=chosen, secret=Secret("ORACLES_PASSWORD")))
    assert {name: ready.parameters[name] for name in ("user", "service")} == {"user": "KEYBENCH", "service": "FREEPDB1"}
    modes = [(named["user"], named["service_name"], named["mode"]) for named in record.connected]
    assert modes == [("SYS", "FREE", oracledb.AUTH_MODE_SYSDBA), ("SYS", "FREEPDB1", oracledb.AUTH_MODE_SYSDBA)]
    sent = record.statements()
    assert sent.index("ALTER DATABASE ADD LOGFILE GROUP 11 SIZE 1024M") < sent.index(
        "ALTER DATABASE DROP LOGFILE GROUP 2"
    )
    assert "GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE TO KEYBENCH" in sent
    assert not [statement for statement in sent if "ALL PRIVILEGES" in statement or "DBA" in statement]


def test_the_model_refuses_blocks_that_it_does_not_know(record: Record, address: Address) -> None:
    admin = OracleAdmin(address)
    assert admin.page_settings() == {"unique": "yes"}  # where the user may not read it
    for size, refused in ((8192, False), (16_384, True)):
        record.answers["SELECT block_size"] = [(size,)]
        found = admin.page_settings()
        assert found == {"unique": "yes", "block_size": str(size)}
        on = Table("rows", ENGINE.column("raw16"), 100, settings=found)
        if not refused:
            ENGINE.page_model(on)
            continue
        assert raised(UsageError, ENGINE.page_model, on) == (
            "the page model of Oracle knows blocks of 8192 bytes only, and this user's tablespace has blocks of 16384."
        )
    admin.close()


def test_an_option_that_is_no_choice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^unique of Oracle is one of yes, no, not 'perhaps'\.$"):
        options({"unique": "perhaps"})


TYPES = {
    "raw16": oracledb.DB_TYPE_RAW,
    "raw16-net": oracledb.DB_TYPE_RAW,
    "binary16-mssql": oracledb.DB_TYPE_RAW,
    "char36": 36,
    "raw": oracledb.DB_TYPE_RAW,
    "char": 24,
    "number": oracledb.DB_TYPE_NUMBER,
}


@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_rows_go_in_order_in_arrays_of_one_transaction_each(record: Record, address: Address, column: str) -> None:
    sized, made = taken_by(ENGINE.column(column), random(2500))
    session = OracleSession(address, Table("rows", sized, 100))
    batches = session.prepare(made, Payload(100), 7, 1000)
    record.calls.clear()
    assert [session.send(batch) for batch in batches] == [1000, 1000, 500]
    assert record.names() == ["setinputsizes", "executemany", "commit"] * 3
    assert set(record.statements()) == {'INSERT INTO "rows" (key, payload) VALUES (:key, :payload)'}
    assert {call[1] for call in record.calls if call[0] == "setinputsizes"} == {(TYPES[column], 100)}
    sent = [row for call in record.calls if call[0] == "executemany" for row in call[2]]
    encoded = sized.encode(made)
    wanted = encoded.tolist() if sized.form == "int" else [row.tobytes() for row in encoded]
    assert [row[0].encode() if isinstance(row[0], str) else row[0] for row in sent] == wanted
    assert [row[1] for row in sent] == [row.tobytes().decode() for row in Payload(100).rows(7, 2500)]


def test_an_error_undoes_the_transaction_and_shows_the_servers_message(record: Record, address: Address) -> None:
    session = OracleSession(address, TABLE)
    (batch,) = session.prepare(random(2), Payload(100), 0, 2)
    record.refuse["INSERT"] = "ORA-00001: unique constraint (KEYBENCH.rows_key) violated"
    with pytest.raises(ServerError, match=r"^Oracle: ORA-00001: unique constraint \(KEYBENCH\.rows_key\) violated$"):
        session.send(batch)
    assert record.names()[-1] == "rollback"
    record.refuse["INSERT"] = "ORA-01654: unable to extend index by 128 in tablespace KEYBENCH"
    with pytest.raises(ServerError, match=r"Make room on the server's disk"):
        session.send(batch)


def test_a_session_stores_its_statistics_unless_it_sent_nothing(record: Record, address: Address) -> None:
    record.answers["SELECT n.name"] = STATISTICS
    session = OracleSession(address, TABLE)
    session.prepare(random(2), Payload(100), 0, 2)
    record.answers["SELECT n.name"] = [(name, 25) for name in probes.NAMES]
    record.calls.clear()
    session.close()
    kept = {call[2]["name"]: call[2]["value"] for call in record.calls if call[:2] == ("execute", probes.KEEP)}
    assert kept == dict.fromkeys(probes.NAMES, 15)
    assert record.names()[-2:] == ["commit", "close"]
    record.calls.clear()
    OracleSession(address, TABLE).close()
    assert record.statements() == []


def test_splits_are_the_sessions_counters_added_up(record: Record, address: Address) -> None:
    record.answers = {
        "SELECT name, SUM(value)": [
            ("leaf node splits", 4869),
            ("leaf node 90-10 splits", 12),
            ("branch node splits", 9),
            ("root node splits", 1),
            ("redo size", 123_456),
        ],
        "SELECT height": [(3, 1_000_000, 4870, 26_000_000, 7996, 11)],
        "SELECT segment_name": [("rows", 1 << 20), ("rows_key", 1 << 21)],
    }
    admin = OracleAdmin(address)
    by_metric = {reading.metric: reading for probe in admin.probes() for reading in probe.after(TABLE)}
    assert {metric: reading.value for metric, reading in by_metric.items()} == {
        Metric.APPENDS: 12,
        Metric.EDGE_AND_INTERIOR_SPLITS: 4857,
        Metric.SPLIT_COUNTER: 4869,
        Metric.BRANCH_SPLITS: 10,
        Metric.LOG_BYTES: 123_456,
        Metric.LEAF_PAGES: 4870,
        Metric.BRANCH_PAGES: 11,
        Metric.LEAF_DENSITY: 100 * 26_000_000 / (4870 * 7996),
        Metric.INDEX_BYTES: 1 << 21,
        Metric.TABLE_BYTES: 3 << 20,
    }
    assert not set(by_metric) & set(ENGINE.absent)
    statements = record.statements()
    place = statements.index('ANALYZE INDEX "rows_key" VALIDATE STRUCTURE')
    assert statements[place + 1].endswith("FROM index_stats")  # the same session, at once


def test_a_refused_query_makes_its_metrics_absent_with_the_reason(record: Record, address: Address) -> None:
    record.refuse["ANALYZE"] = "ORA-01031: insufficient privileges"
    admin = OracleAdmin(address)
    sessions, structure, *_ = (list(probe.after(TABLE)) for probe in admin.probes())
    assert {reading.value for reading in [*sessions, *structure]} == {None}
    assert sessions[0].reason.startswith("the writers' sessions may not read their statistics: GRANT ")
    assert structure[0].reason == "the index cannot be read (Oracle: ORA-01031: insufficient privileges)."


@pytest.mark.parametrize("column", ["raw16", "char36", "number"])
def test_stored_keys_come_back_as_the_column_encodes_them(record: Record, address: Address, column: str) -> None:
    on, keys_ = taken_by(ENGINE.column(column), random(10))
    encoded = on.encode(keys_)
    held = encoded.tolist() if on.form == "int" else [row.tobytes() for row in encoded]
    record.answers["SELECT key"] = [(value.decode() if on.form == "text" else value,) for value in held]
    stored = np.concatenate(list(OracleAdmin(address).stored_keys(Table("rows", on, 0))))
    assert np.array_equal(stored, encoded)
