"""The order of arrival from the write-ahead log: each row's insertion into the key's index is one record there.

Level-0 INSERT_LEAF and SPLIT records name their transaction; the table's rows name it too (`xmin`). The heap's order
(`ctid`) is another one where several writers extend the table at once (docs/internals/arrival-order.md §1).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keybench.databases.capabilities import Arrivals
from keybench.databases.postgresql.files import source, wal
from keybench.databases.postgresql.files.source import UnreadableError
from keybench.errors import ServerError
from keybench.model.table import Table

if TYPE_CHECKING:
    from keybench.databases.postgresql.admin import PostgresAdmin

_SLOT = "keybench_arrival"
_INSERTION = re.compile(
    rb"tx: +(\d+),[^\n]*desc: (?:INSERT_LEAF|SPLIT_[LR] level:? 0)[^\n]*blkref #0: rel (\d+/\d+/\d+)"
)


class WalRecorder:
    """Reads a private server's log; somebody's own server is not asked to keep its log."""

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin
        self._begin = ""

    def before(self, table: Table) -> None:
        """Has the server keep its log from here on."""
        source.keep_log(self._admin, _SLOT, table)
        self._begin = source.position(self._admin)

    def after(self, table: Table) -> Arrivals:
        """Order of insertion of every row."""
        try:
            records = source.insertion_records(self._admin, self._begin, source.position(self._admin))
            sequence = transactions(records, source.relation(self._admin, table))
        except (UnreadableError, wal.WalUnreadableError) as error:
            raise ServerError(f"the order of arrival cannot be read: {error}") from error
        finally:
            source.let_log_go(self._admin, _SLOT, table)
        keys, of = self._admin.stored_transactions(table)
        if not np.array_equal(np.sort(sequence), np.sort(of)):
            raise ServerError(f"the log shows {len(sequence)} insertions into an index of {len(of)} rows.")
        return Arrivals(keys, of, sequence)


def transactions(chunks: Iterable[bytes], relation: str) -> NDArray[np.int64]:
    """The transaction of each insertion into one index's leaves, in order, from text of log records, one a line."""
    wanted, found, rest = relation.encode(), [np.empty(0, np.int64)], b""
    for chunk in itertools.chain(chunks, [b"\n"]):
        text = rest + chunk
        cut = text.rfind(b"\n") + 1
        rest = text[cut:]
        records = _INSERTION.findall(text, 0, cut)
        found.append(np.array([number for number, of in records if of == wanted], np.int64))
    return np.concatenate(found)
