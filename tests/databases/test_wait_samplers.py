"""Samples of waits on SQL Server and Oracle, by documented answers: no server of theirs runs here."""

from __future__ import annotations

import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.core.probes import NOBODY, WaitSamples
from keybench.databases.mssql import admin as mssql
from keybench.databases.mssql.admin import MssqlAdmin
from keybench.databases.oracle import admin as oracle
from keybench.databases.oracle.admin import OracleAdmin
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.subject import Subject


class Answers:
    """Answers in the order of the questions."""

    def __init__(self, *answers: list[tuple[object, ...]] | ServerError) -> None:
        self.answers, self.asked, self.closed = list(answers), [], False

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        self.asked.append(statement)
        answer = self.answers.pop(0)
        if isinstance(answer, ServerError):
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True


def test_shares_of_all_samples() -> None:
    samples = WaitSamples()
    samples.add([("client", 3), ("PAGELATCH_EX", 1)])
    samples.add([("PAGELATCH_EX", 4)])
    found = {reading.subject: (reading.value, reading.reason) for reading in samples.shares()}
    assert found == {
        Subject.wait("PAGELATCH_EX"): (62.5, "2 samples"),
        Subject.wait("client"): (37.5, "2 samples"),
    }


def test_no_connection_seen_is_said() -> None:
    (absent,) = WaitSamples().shares()
    assert (absent.metric, absent.value, absent.reason) == (Metric.WAITING, None, NOBODY)


def sampler(module, admin, server: Answers, monkeypatch: pytest.MonkeyPatch):
    """A sampler of an admin whose connections are that stand-in."""
    monkeypatch.setattr(module.connection, "connect", lambda _address: server)
    return admin(Address("", "url", {})).wait_sampler(None)


@pytest.mark.parametrize(("module", "admin"), [(mssql, MssqlAdmin), (oracle, OracleAdmin)])
def test_connections_that_were_there_before_are_left_out(module, admin, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Answers([(51,), (60,)], [("client", 1), ("WRITELOG", 3)])
    samples = sampler(module, admin, server, monkeypatch)
    samples.sample()
    samples.close()
    assert server.asked[0].startswith("SELECT s")
    assert "NOT IN (51, 60)" in server.asked[1]
    assert {str(reading.subject): reading.value for reading in samples.readings()} == {
        "wait WRITELOG": 75.0,
        "wait client": 25.0,
    }
    assert server.closed


def test_what_oracle_refuses_has_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Answers(ServerError("ORA-00942: table or view does not exist."))
    with pytest.raises(ServerError) as refused:
        sampler(oracle, OracleAdmin, server, monkeypatch)
    assert str(refused.value) == (
        "waits cannot be sampled (ORA-00942: table or view does not exist): GRANT READ ON sys.v_$session to the user."
    )
    assert server.closed
