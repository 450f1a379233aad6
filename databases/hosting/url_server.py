"""keybench as a guest on somebody's own server: it works in one schema or database of its own and leaves it at the end.

Everything that killed runs leave is in there too, so what runs use and what `clean` removes is one thing: a `Lodging`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Protocol

from keybench.databases.contract import Address
from keybench.databases.hosting.leftovers import Leftovers
from keybench.errors import EnvironmentMissing, ServerError

LOCK_SECONDS = 2
"""How long a run waits for another's lock: `clean`, and a run that ends, hold it for a moment."""


class Lodging(Leftovers, Protocol):
    """The schema or database that keybench has on a server, through one connection."""

    grant: str
    """What an administrator does for a user who may not make it."""

    def take(self) -> bool:
        """Says that a run uses it, for as long as the connection is open; False where another run does.

        Two runs would use the same tables. The server itself gives the lock up when the run dies.
        """
        ...

    def make(self) -> None:
        """Makes it where it is not there, marked as made by keybench; ServerError where that is refused."""
        ...

    def lost(self) -> bool:
        """Whether the connection, and the lock with it, is gone."""
        ...


class UrlServer:
    """The server at a URL. From `start` to `stop` a connection is kept that holds the lock (`Lodging.take`)."""

    def __init__(self, address: Address, enter: Callable[[Address], Lodging]) -> None:
        self._address = address
        self._enter = enter
        self._own: Lodging | None = None

    def start(self) -> Address:
        """Looks whether it answers, takes the lock, and makes keybench's schema or database where it is not there.

        EnvironmentMissing where it does not answer, where another run is using it, or where the user may not.
        """
        own = self._enter(self._address)
        try:
            if not own.take():
                raise EnvironmentMissing(
                    f"{own.place}: another run of keybench is using it, and both would use the same tables.\n"
                    "Wait until that run has ended, or choose another --server."
                )
            try:
                own.make()
            except ServerError as error:
                raise EnvironmentMissing(
                    f"{own.place} refuses keybench a place of its own: {error}\nLet its administrator run: {own.grant}"
                ) from None
        except BaseException:
            own.close()
            raise
        self._own = own
        return self._address

    def stop(self) -> None:
        """Removes what keybench made there: its tables, and the schema or database if nothing else is in it."""
        if self._own is None:
            return
        own, self._own = self._own, None
        with closing(own):
            if not own.lost():
                own.remove()
                return
        with closing(self._enter(self._address)) as again:
            again.remove()

    def alive(self) -> bool:
        """True: it is not keybench's to watch."""
        return True
