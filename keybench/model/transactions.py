"""How a writer's transactions are isolated from others, and what they read before they insert."""

from dataclasses import dataclass
from typing import Final, Literal

Isolation = Literal["read-committed", "repeatable-read", "serializable"]
"""The levels of the SQL standard that keybench knows; engines declare those that they have."""

LookUp = Literal["key", "neighbour", "recent"]
"""What a transaction reads before it inserts. `key`: the rows that it is about to insert, which are not there: it
creates what does not exist. `neighbour`: the writer's last row. `recent`: the writer's last `RECENT` rows. Each row is
looked up by its key."""

RECENT: Final = 10


@dataclass(frozen=True)
class TransactionStyle:
    """Transactions with several statements, tried again when the server rolls them back."""

    isolation: Isolation | None = None
    """None: the server's default."""
    look_up: LookUp | None = None

    def looked_up(self, first: int, end: int) -> range:
        """The numbers of the rows that a transaction with the rows first … end - 1 reads, of those of one writer."""
        if self.look_up == "key":
            return range(first, end)
        back = {"neighbour": 1, "recent": RECENT}.get(self.look_up or "", 0)
        return range(max(0, first - back), first)
