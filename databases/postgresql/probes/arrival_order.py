"""The order of arrival from the write-ahead log, which has one record for each insertion into the key's index.

Level-0 INSERT_LEAF and SPLIT records name their transaction. The table's rows name it too (`xmin`). The heap's order
(`ctid`) differs if several writers extend the table at once (docs/internals/arrival-order.md §1).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Arrivals
from keybench.databases.postgresql.connection import AdminConnection, UnreadableError
from keybench.databases.postgresql.probes import log
from keybench.errors import ServerError
from keybench.model.column import EncodedKeys
from keybench.model.table import Table

StoredTransactions = Callable[[Table], tuple[EncodedKeys, NDArray[np.int64]]]
"""Reads a table: (all its keys, the transaction that inserted each)."""

_SLOT = "keybench_arrival"
_INSERTION = re.compile(
    rb"tx: +(\d+),[^\n]*desc: (?:INSERT_LEAF|SPLIT_[LR] level:? 0)[^\n]*blkref #0: rel (\d+/\d+/\d+)"
)


class WalRecorder:
    """Reads a private server's log. keybench does not make a user's own server keep its log."""

    def __init__(self, server: AdminConnection, stored_transactions: StoredTransactions) -> None:
        self._server = server
        self._stored_transactions = stored_transactions
        self._begin = ""

    def before(self, table: Table) -> None:
        """Makes the server keep its log from here on."""
        log.keep_log(self._server, _SLOT, table)
        self._begin = log.position(self._server)

    def after(self, table: Table) -> Arrivals:
        """The order of insertion of all rows, and of their children."""
        tables = [table, replace(table, name=table.child, key="fk", child="")] if table.child else [table]
        try:
            records = log.insertion_records(self._server, self._begin, log.position(self._server))
            sequence, *of_children = transactions(records, [log.relation(self._server, each) for each in tables])
        except UnreadableError as error:
            raise ServerError(f"the order of arrival cannot be read: {error}") from error
        finally:
            log.release_log(self._server, _SLOT, table)
        keys, inserted_by = self._stored_transactions(table)
        if not np.array_equal(np.sort(sequence), np.sort(inserted_by)):
            raise ServerError(f"the log shows {len(sequence)} insertions into an index of {len(inserted_by)} rows.")
        return Arrivals(keys, inserted_by, sequence, of_children[0] if of_children else None)


def transactions(chunks: Iterable[bytes], relations: Sequence[str]) -> list[NDArray[np.int64]]:
    """The transaction of each insertion into the leaves of each of these indexes, in order.

    `chunks` are the text of log records, one record per line.
    """
    rest = b""
    parts = {relation.encode(): [np.empty(0, np.int64)] for relation in relations}
    for chunk in itertools.chain(chunks, [b"\n"]):
        text = rest + chunk
        cut = text.rfind(b"\n") + 1
        rest = text[cut:]
        records = _INSERTION.findall(text, 0, cut)
        for wanted, numbers in parts.items():
            numbers.append(np.array([number for number, index in records if index == wanted], np.int64))
    return [np.concatenate(numbers) for numbers in parts.values()]
