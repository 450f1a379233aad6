"""A table on a private server of any engine: loaded by one session, and measured."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Address
from keybench.databases.registry import engine
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.reading import Reading
from keybench.model.table import Table

EXACT = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)
"""What every page model predicts exactly."""


def as_url(address: Address) -> Address:
    """A private server as if it were a user's own: only the connection, without its files."""
    parameters = {name: value for name, value in address.parameters.items() if name not in {"data", "programs"}}
    return replace(address, server="url", parameters=parameters, settings=None)


def lengths(table: Table, n: int) -> NDArray[np.int64] | None:
    """Characters of n payloads, if they vary."""
    return table.lengths.of((1,), np.arange(n)) if table.lengths else None


def send(address: Address, table: Table, keys: Keys, rows_per_tx: int = 1000) -> int:
    """Sends the keys in their order over one session. Returns the rows that the server acknowledged."""
    payload = Payload(table.payload, lengths=lengths(table, len(keys)))
    with closing(engine(address.engine).session(address, table)) as session:
        return sum(session.send(batch) for batch in session.prepare(keys, payload, 0, rows_per_tx))


def measured(
    admin: Any, table: Table, keys: Keys, address: Address | None = None, rows_per_tx: int = 1000
) -> Mapping[Metric, Reading]:
    """Creates the table, loads the keys in their order, and gives all readings. `address`: else the admin's."""
    admin.create(table)
    probes = admin.probes()
    for probe in probes:
        probe.before(table)
    assert send(address or admin.address, table, keys, rows_per_tx) == len(keys)
    readings = [reading for probe in probes for reading in probe.after(table)]
    assert sorted(reading.metric for reading in readings) == sorted(m for probe in probes for m in probe.supplies)
    return MappingProxyType({reading.metric: reading for reading in readings})
