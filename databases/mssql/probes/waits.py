"""Samples of the writers' waits. Written from documentation, and not yet run on a live server.

`sys.dm_exec_requests` shows the wait of each request at the moment of the question (`wait_type` is null if it does not
wait); a session without a request is idle. PAGELATCH_EX is the wait for a page that another session changes; with
OPTIMIZE_FOR_SEQUENTIAL_KEY (`--set sequential_key=on`) it becomes BTREE_INSERT_FLOW_CONTROL (Microsoft, "CREATE INDEX",
"sys.dm_os_wait_stats").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from keybench.databases.contract.roles import Address
from keybench.databases.core.probes import WaitSamples
from keybench.databases.mssql import connection
from keybench.model.reading import Reading

STANDING: Final = "SELECT session_id FROM sys.dm_exec_sessions WHERE is_user_process = 1"
_KIND: Final = "CASE WHEN r.session_id IS NULL THEN N'client' ELSE COALESCE(r.wait_type, N'running') END"
WAITS: Final = (
    f"SELECT {_KIND}, COUNT(*) FROM sys.dm_exec_sessions AS s "  # noqa: S608  # our own words and numbers
    "LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id "
    "WHERE s.is_user_process = 1 AND s.database_id = DB_ID() AND s.session_id NOT IN ({standing}) "
    f"GROUP BY {_KIND}"
)


class WaitSampler:
    """Takes samples by a connection of its own. Needs VIEW SERVER STATE."""

    def __init__(self, address: Address) -> None:
        self._connection = connection.connect(address)
        self._samples = WaitSamples()
        try:
            standing = ", ".join(str(int(number)) for (number,) in self._connection.rows(STANDING)) or "0"
        except BaseException:
            self._connection.close()
            raise
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
