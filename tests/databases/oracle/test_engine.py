"""Oracle's declaration, and how a user's own server is reached."""

import gc
import socket
import sys
import threading
import time

import oracledb
import pytest

from keybench.databases.contract.questions import JudgedTrial
from keybench.databases.oracle import connection, ddl
from keybench.databases.oracle.engine import ENGINE
from keybench.databases.oracle.settings import address_of
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.model.table import Table
from tests.databases.failures import PASSWORD, QUOTED, failure, hidden
from tests.databases.oracle.recording import Record

SETTINGS = ENGINE.settings("durable", "small")
pytestmark = pytest.mark.usefixtures("environment")


def test_urls_become_addresses() -> None:
    address = address_of(f"oracle://a%40b:{QUOTED}@h:77/XEPDB1?unique=no", {})
    assert address.secret.reveal() == PASSWORD
    assert dict(address.parameters) == {
        "host": "h", "port": "77", "service": "XEPDB1", "user": "a@b", "unique": "no",
    }  # fmt: skip
    assert hidden(repr(address), vars(ENGINE.provision(f"oracle://a:{QUOTED}@h/s", SETTINGS)))


@pytest.mark.parametrize("wrong", [f"oracle://a:{PASSWORD}@[::1/x", "oracle://h:port", "oracle://a@h", "oracle://h/s"])
def test_a_url_that_cannot_be_understood_is_not_repeated(wrong: str) -> None:
    error = failure(ENGINE, wrong)
    assert isinstance(error, UsageError)
    assert str(error) == (
        "the Oracle URL cannot be understood: write oracle://user@host:1521/service, special characters in user and "
        "password as %XX."
    )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the driver leaves its socket open
def test_a_port_where_nothing_listens(free_port: int) -> None:
    error = failure(ENGINE, f"oracle://me@127.0.0.1:{free_port}/s?password=x")
    assert isinstance(error, EnvironmentMissing)
    assert f"Oracle at 127.0.0.1:{free_port}/s cannot be reached: " in str(error)
    assert "Connection refused" in str(error)
    del error
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the driver leaves its socket open
def test_a_listener_that_stays_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOGIN_SECONDS", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        begin = time.monotonic()
        error = failure(ENGINE, f"oracle://me@127.0.0.1:{port}/s?password=x")
        assert time.monotonic() - begin < 3
    assert isinstance(error, EnvironmentMissing)
    assert str(error).startswith(f"Oracle at 127.0.0.1:{port}/s cannot be reached: no answer within 0.5 s.")
    del error
    for thread in threading.enumerate():
        if thread.name == "keybench-login":  # the listener has gone, which ends the driver's wait
            thread.join(5)
    gc.collect()


def test_a_wrong_password_gives_the_servers_message_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record()

    def refusing(**_named: object) -> None:
        raise oracledb.DatabaseError(f"ORA-01017: invalid credential {PASSWORD}\nHelp: https://docs.oracle.com/x/")

    module = record.module()
    module.connect = refusing
    monkeypatch.setattr(connection, "driver", lambda: module)
    assert str(failure(ENGINE, f"oracle://me:{QUOTED}@db.example/s")).startswith(
        "Oracle at db.example:1521/s cannot be reached: ORA-01017: invalid credential ***.\n"
    )
    assert connection.OracleConnection.error_text(Exception()) == "Exception"


def test_a_second_run_is_kept_out_and_clean_leaves_it_alone(record: Record) -> None:
    record.refuse["LOCK TABLE"] = "ORA-00054: resource busy and acquire with NOWAIT specified"
    assert str(failure(ENGINE, "oracle://me@db.example/s")).startswith(
        "Oracle at db.example:1521/s: another run of keybench is using it"
    )
    left = ENGINE.owned_schema("oracle://me@db.example/s")
    assert left.in_use()
    assert left.remove() == []


def test_a_user_without_rights_gets_a_next_step(record: Record) -> None:
    record.refuse["CREATE TABLE"] = "ORA-01031: insufficient privileges"
    text = str(failure(ENGINE, "oracle://me@db.example/s"))
    assert "does not let keybench create its schema or tables: Oracle: ORA-01031: insufficient privileges" in text
    assert "Let its administrator run: GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE TO KEYBENCH; " in text


def test_the_message_for_a_missing_driver_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oracledb", None)
    text = "Oracle needs the Python package oracledb: pip install 'keybench[oracle]'."
    assert str(failure(ENGINE, "oracle://me@db.example/s")) == text


def test_trials_answer_open_questions() -> None:
    table = Table("rows", ENGINE.column("raw16"), 100, "nonclustered")

    def outcomes(readings: list[Reading], of: Table = table) -> list[str]:
        trial = JudgedTrial("uuid-v4", of, 1_000_000, 1, readings)
        verdicts = [question.judge(trial) for question in ENGINE.questions if question.of_any_run]
        return [verdict.outcome for verdict in verdicts if verdict]

    real = {Metric.LEAF_PAGES: 4870, Metric.SPLIT_COUNTER: 4869, Metric.APPENDS: 12, Metric.LEAF_DENSITY: 70.0}
    model = {Metric.LEAF_PAGES: 4860, Metric.LEAF_DENSITY: 69.0, Metric.INTERIOR_SPLITS: 4850}
    readings = [Reading(metric, value, "measured") for metric, value in real.items()]
    readings += [Reading(metric, value, "modelled", "", MODEL) for metric, value in model.items()]
    assert outcomes(readings) == ["equal"] * 3
    assert outcomes([readings[0], Reading(Metric.SPLIT_COUNTER, 2000.0, "measured")]) == ["differs"]
    server_keys = Table("rows", ENGINE.column("raw16"), 100, server_keys=ddl.SERVER_KEYS[-1])
    assert outcomes([Reading(Metric.EDGE_AND_INTERIOR_SPLITS, 7.0, "measured")], server_keys) == ["differs"]
