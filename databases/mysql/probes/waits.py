"""What transactions waited for: samples of the list of connections."""

from __future__ import annotations

from collections.abc import Iterable

from keybench.databases.contract.roles import Address
from keybench.databases.core.probes import WaitSamples
from keybench.databases.mysql.connection import Queries
from keybench.model.reading import Reading


class WaitSampler:
    """Takes samples by a connection of its own.

    The server's list of connections shows the stage of a statement, not a wait: `Update` is an insertion, with its
    waits for latches and row locks, and the stage of a commit contains the wait for the log.
    """

    def __init__(self, address: Address) -> None:
        self._server = Queries(address)
        try:
            standing = self._server.rows("SELECT id FROM information_schema.processlist")
        except BaseException:
            self._server.close()
            raise
        self._standing = ", ".join(str(int(number)) for (number,) in standing)
        self._samples = WaitSamples()

    def sample(self) -> None:
        """Counts the connections by stage."""
        counts = self._server.rows(
            "SELECT CASE WHEN command = 'Sleep' THEN 'client' WHEN coalesce(state, '') = '' THEN 'running' "  # noqa: S608
            "ELSE lower(state) END, count(*) FROM information_schema.processlist "
            f"WHERE id NOT IN ({self._standing}) AND command <> 'Daemon' GROUP BY 1"
        )
        self._samples.add((name, number) for name, number in counts)

    def readings(self) -> Iterable[Reading]:
        """The share of each stage."""
        return self._samples.shares()

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()
