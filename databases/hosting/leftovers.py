"""What killed runs leave on somebody's own server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Leftovers(Protocol):
    """What killed runs left on somebody's own server: only what keybench itself made there."""

    place: str
    """Where the server is, for people to read, without user and password."""

    def in_use(self) -> bool:
        """Whether a run is using the server at this moment."""
        ...

    def found(self) -> Sequence[str]:
        """What `remove` would remove, one thing each, for people to read."""
        ...

    def remove(self) -> Sequence[str]:
        """Removes it, but nothing while a run uses the server; what was removed. ServerError where it is refused."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...
