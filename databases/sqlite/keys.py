"""Keys that SQLite makes itself."""

from __future__ import annotations

from keybench.errors import UsageError
from keybench.model.names import CONTROL
from keybench.model.table import ServerKeys, Table

MADE = (ServerKeys("server-identity", "the rowid: one more than the largest", "integer", "rfc", "", replica=CONTROL),)


def check(table: Table) -> None:
    """Raises UsageError if the table's key would not be the rowid: SQLite makes no other keys."""
    if table.server_keys and table.key != "clustered":
        raise UsageError(
            f"SQLite makes {table.server_keys.name} keys only where the key is the table's rowid: "
            'choose a scenario whose table has key = "clustered".'
        )
