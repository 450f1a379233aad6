"""What a killed run left on somebody's own server."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.databases.postgresql import connection, schema
from keybench.databases.postgresql.table import SCHEMA
from keybench.databases.postgresql.url import address_of
from keybench.errors import ServerError


class UrlLeftovers:
    """What keybench has on the server at a URL."""

    def __init__(self, url: str) -> None:
        """EnvironmentMissing where the server cannot be reached."""
        address = address_of(url)
        self.place = f"PostgreSQL at {connection.place(address)}"
        self._connection = connection.connect(address)

    def in_use(self) -> bool:
        """Whether a run uses it at this moment."""
        with connection.server_errors(), self._connection.transaction():
            return schema.in_use(self._connection)

    def found(self) -> Sequence[str]:
        """What `remove` would remove, for people to read."""
        with connection.server_errors():
            found = [f"table {SCHEMA}.{name}, {size}" for name, size in schema.tables(self._connection)]
            if schema.made_here(self._connection):
                found.append(f"schema {SCHEMA}, unless something else is in it")
        return found

    def remove(self) -> Sequence[str]:
        """Removes it, unless a run has begun to use it; what was removed. ServerError where the server refuses."""
        try:
            return schema.remove(self._connection)
        except ServerError as error:
            raise ServerError(
                f"{error}\nNothing was changed on {self.place}: see to that object, then clean again."
            ) from None

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()
