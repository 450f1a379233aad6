"""How many writers a server can take."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class LimitsSessions(Protocol):
    """An Admin of a server that takes so many connections and no more."""

    def sessions_left(self) -> int:
        """Connections that this user can still open now, beside this one."""
        ...
