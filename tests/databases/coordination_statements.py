"""Every statement of a coordination table, on a recording connection that answers as a server would."""

from __future__ import annotations

from keybench.databases.core.coordination import CoordinationTable, WritersState

ANSWERS = {"SELECT MIN(CASE": [(3, 100, 2, 0)], "SELECT SUM(sent)": [(12,)], "SELECT writer": [(1,)]}


def everything(table: CoordinationTable) -> None:
    table.create(7, 1)
    assert table.claim(7, 0)
    table.update(7, 0, stage=1, row=100, sent=12)
    assert table.read(7) == WritersState(3, 100, 2, False)
    table.heartbeat(7)
    assert table.rows_sent(7) == 12
    assert table.active_writers(7) == {1}
    table.finish(7, 0)
    table.stop(7)
    table.drop()
    table.close()
