"""A user's own server. keybench works there in one schema or database that it owns, and removes it at the end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from keybench.databases.contract.roles import Address, OwnedSchema, Provision
from keybench.errors import EnvironmentMissing, ServerError

LOCK_SECONDS = 2
"""How long a run waits for the lock: `keybench clean` and a run that is ending hold it for a moment."""


class UrlServer(Provision):
    """The server at a URL. One connection stays open from `start` to `stop`; it holds the lock of the run."""

    def __init__(self, connect: Callable[[], OwnedSchema]) -> None:
        """`connect` opens a new connection, and raises EnvironmentMissing if the server cannot be reached."""
        self._connect = connect
        self._schema: OwnedSchema | None = None

    def start(self) -> Address:
        """Connects, takes the lock, and creates keybench's schema or database if it does not exist.

        Raises EnvironmentMissing if the server does not answer, another run uses it, or the user lacks the permission.
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
        """Removes what keybench created: its tables, and the schema or database if nothing else is in it."""
        if self._schema is None:
            return
        schema, self._schema = self._schema, None
        with closing(schema):
            if not schema.lost():
                schema.remove()
                return
        with closing(self._connect()) as again:
            again.remove()
