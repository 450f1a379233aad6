"""A server of the user's own, where keybench works in one schema or database that it owns, and removes at the end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from keybench.databases.contract.roles import Address, OwnedSchema
from keybench.errors import EnvironmentMissing, ServerError

LOCK_SECONDS = 2
"""How long a run waits for the lock: `keybench clean`, and a run that ends, hold it for a moment."""


class UrlServer:
    """The server at a URL. From `start` to `stop` one connection stays open, which holds the lock of the run."""

    def __init__(self, connect: Callable[[], OwnedSchema]) -> None:
        """`connect` opens a new connection; EnvironmentMissing where the server cannot be reached."""
        self._connect = connect
        self._schema: OwnedSchema | None = None

    def start(self) -> Address:
        """Connects, takes the lock, and creates keybench's schema or database where it is not there.

        EnvironmentMissing where the server does not answer, where another run uses it, and where the user may not.
        """
        schema = self._connect()
        try:
            if not schema.acquire():
                raise EnvironmentMissing(
                    f"{schema.place}: another run of keybench is using it, and both would use the same tables.\n"
                    "Wait until that run has ended, or choose another --server."
                )
            schema.create()
        except ServerError as error:
            schema.close()
            raise EnvironmentMissing(
                f"{schema.place} does not let keybench create its schema or tables: {error}\n{schema.advice}"
            ) from None
        except BaseException:
            schema.close()
            raise
        self._schema = schema
        return schema.address

    def stop(self) -> None:
        """Removes what keybench made there: its tables, and the schema or database if nothing else is in it."""
        if self._schema is None:
            return
        schema, self._schema = self._schema, None
        with closing(schema):
            if not schema.lost():
                schema.remove()
                return
        with closing(self._connect()) as again:
            again.remove()

    def alive(self) -> bool:
        """True: keybench did not start it and does not watch it."""
        return True
