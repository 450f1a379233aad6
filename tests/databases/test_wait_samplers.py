"""Samples of waits on SQL Server and Oracle, by documented answers: no server of theirs runs here."""

from __future__ import annotations

import pytest

from keybench.databases.core.probes import NOBODY, WaitSamples
from keybench.databases.mssql.probes import waits as mssql
from keybench.databases.oracle.probes import waits as oracle
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


@pytest.mark.parametrize("module", [mssql, oracle])
def test_connections_that_were_there_before_are_left_out(module, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Answers([(51,), (60,)], [("client", 1), ("WRITELOG", 3)])
    monkeypatch.setattr(module.connection, "connect", lambda _address: server)
    sampler = module.WaitSampler(None)
    sampler.sample()
    sampler.close()
    assert server.asked[0] == module.STANDING
    assert "NOT IN (51, 60)" in server.asked[1]
    assert {str(reading.subject): reading.value for reading in sampler.readings()} == {
        "wait WRITELOG": 75.0,
        "wait client": 25.0,
    }
    assert server.closed


def test_what_oracle_refuses_has_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Answers(ServerError("ORA-00942: table or view does not exist."))
    monkeypatch.setattr(oracle.connection, "connect", lambda _address: server)
    with pytest.raises(ServerError) as refused:
        oracle.WaitSampler(None)  # type: ignore[arg-type]
    assert str(refused.value) == (
        "waits cannot be sampled (ORA-00942: table or view does not exist): GRANT READ ON sys.v_$session to the user."
    )
    assert server.closed


def test_what_sql_server_refuses_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Answers(ServerError("VIEW SERVER STATE permission was denied."))
    monkeypatch.setattr(mssql.connection, "connect", lambda _address: server)
    with pytest.raises(ServerError, match=r"^VIEW SERVER STATE permission was denied\.$"):
        mssql.WaitSampler(None)  # type: ignore[arg-type]
    assert server.closed
