"""Samples of the writers' waits. Written from documentation, and not yet run on a live server.

`v$session` shows the event that a session waits for if its `state` is WAITING; events of the class Idle wait for the
client (Oracle, "Database Reference", V$SESSION). Writers that meet on a leaf show `buffer busy waits` and
`enq: TX - index contention`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from keybench.databases.contract.roles import Address
from keybench.databases.core.probes import WaitSamples
from keybench.databases.oracle import connection
from keybench.errors import ServerError
from keybench.model.reading import Reading

STANDING: Final = "SELECT sid FROM v$session WHERE type = 'USER'"
_KIND: Final = (
    "CASE WHEN state = 'WAITING' AND wait_class <> 'Idle' THEN event "
    "WHEN state = 'WAITING' OR status <> 'ACTIVE' THEN 'client' ELSE 'running' END"
)
WAITS: Final = (
    f"SELECT {_KIND}, COUNT(*) FROM v$session "  # noqa: S608  # our own words and numbers
    "WHERE type = 'USER' AND username = USER AND sid NOT IN ({standing}) "
    f"GROUP BY {_KIND}"
)


class WaitSampler:
    """Takes samples by a connection of its own. ServerError if the user may not read v$session."""

    def __init__(self, address: Address) -> None:
        self._connection = connection.connect(address)
        self._samples = WaitSamples()
        try:
            standing = ", ".join(str(int(number)) for (number,) in self._connection.rows(STANDING)) or "0"
        except ServerError as error:
            self._connection.close()
            raise ServerError(
                f"waits cannot be sampled ({str(error).rstrip('.')}): GRANT READ ON sys.v_$session to the user."
            ) from None
        self._statement = WAITS.format(standing=standing)

    def sample(self) -> None:
        """Counts the sessions by what they wait for."""
        self._samples.add((name, number) for name, number in self._connection.rows(self._statement))

    def readings(self) -> Iterable[Reading]:
        """The share of each kind of wait."""
        return self._samples.shares()

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()
