"""The load path `bulk`: what servers offer to load many rows fast, past the way that single inserts take.

Servers sort what comes so (SQL Server's bulk copy), or merge it into the index at the end (Oracle's direct path). Page
splits of rows in order of arrival then do not happen: results say which path their rows took, and are never compared
with a page model, which inserts row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from keybench.model.keys import Keys
from keybench.model.payload import Payload

LoadPath = Literal["rows", "bulk"]
"""One index insertion a row, in order of arrival; or the server's bulk path."""


@runtime_checkable
class LoadsInBulk(Protocol):
    """A session of an engine that has `bulk` among `Engine.paths`."""

    def prepare_in_bulk(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """As `Session.prepare`; `Session.send` loads each of these batches in bulk, all of its rows or none."""
        ...
