"""SQLite's server is the process itself. It needs only a private folder for its files."""

from __future__ import annotations

from keybench.databases.contract.roles import Address, Provision, Settings
from keybench.databases.hosting.private_server import PrivateFolder

_START_SECONDS = 10.0


class EmbeddedServer(Provision):
    """A private folder, which is removed when the runner ends."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._kept = PrivateFolder(engine="sqlite")

    def start(self) -> Address:
        """Makes the folder."""
        self._kept.start(timeout=_START_SECONDS)
        return Address("sqlite", "embedded", {"folder": str(self._kept.folder)}, self._settings)

    def restart(self) -> None:
        """Nothing: each connection has a cache of its own, which is empty at first."""

    def stop(self) -> None:
        """Removes the folder."""
        self._kept.stop()

    def alive(self) -> bool:
        """Whether the folder is still kept."""
        return self._kept.alive()
