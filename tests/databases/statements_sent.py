"""Every statement of trials and of a coordination table, on a recording connection that answers as a server would."""

from typing import Any

import numpy as np

from keybench.databases.contract_suite.keys import random
from keybench.databases.core.coordination import CoordinationTable, WritersState
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

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


def of_trial(admin: Any, session_type: Any, table: Table) -> None:
    """Sends two rows, reads and deletes them, and takes every reading."""
    admin.create(table)
    probes = admin.probes()
    for probe in probes:
        probe.before(table)
    session = session_type(admin.address, table)
    if table.server_keys:
        session.send(session.prepare_without_keys(Payload(100), 0, 2, 2)[0])
    else:
        sent = Keys(np.arange(2), "int") if table.column.form == "int" else random(2)
        session.send(session.prepare(sent, Payload(table.payload), 0, 2)[0])
        prepared = session.prepare_keys(sent)
        session.find(prepared[0]), session.between(*prepared), session.delete(prepared)
    session.close()
    for probe in probes:
        assert len(list(probe.after(table))) == len(probe.supplies)
    list(admin.stored_keys(table))
    for do in (admin.ordered_keys, admin.settle, lambda on: admin.rebuild(on, 90), admin.index_bytes, admin.drop):
        do(table)
