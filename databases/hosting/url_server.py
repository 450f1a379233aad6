"""A user's own server: its URL, for engines whose driver parses none; the lock of a run; errors with the next step.

keybench works there in one schema or database that it owns, and removes it at the end.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, unquote_plus

from keybench.databases.contract.roles import Address, OwnedSchema, Provision
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError, UsageError
from keybench.model import url

_DISK_FULL = re.compile(r"No space left on device|[Dd]isk full|disk is full|^The table '.*' is full")
NEXT_STEP = (
    "Free space on the server's disk; private servers are in KEYBENCH_TMP, which can name a larger one, and containers "
    "in the folder that `docker info` calls Docker Root Dir."
)


def with_next_step(message: str) -> str:
    """The server's message. If it says that the disk is full, the next step is added, once."""
    needs_step = _DISK_FULL.search(message) and NEXT_STEP not in message
    return f"{message.rstrip('.')}. {NEXT_STEP}" if needs_step else message


def unreachable(address: Address, title: str, place: str, reason: str, to_check: str) -> KeybenchError:
    """The error for a failed connection, without the password. For the server of a URL: EnvironmentMissing, which names
    the parts of the URL that the user should check (`to_check`). For other servers: ServerError."""
    password = address.secret.reveal() if address.secret else ""
    why = (reason.replace(password, "***") if password else reason).rstrip(". ")
    if address.server == "url":
        return EnvironmentMissing(
            f"{title} at {place} cannot be reached: {why}.\nCheck {to_check} in the URL, and that the server is up."
        )
    return ServerError(f"the {title} server of this run does not answer: {why}.")


LOCK_SECONDS = 2
"""How long a run waits for the lock: `keybench clean` and a run that is ending hold it for a moment."""
_SOCKET: Final = "unix_socket"
_PORT: Final = re.compile(r":[0-9]*$")


@dataclass(frozen=True)
class ServerUrl:
    """The decoded parts of a URL; parts that the URL does not have are empty."""

    host: str
    port: str
    user: str
    path: str
    options: Mapping[str, str]
    """The options of the query, without the password."""
    password: str = field(repr=False)


@dataclass(frozen=True)
class UrlForm:
    """What a database's URLs look like."""

    title: str
    """The database's name in messages."""
    example: str
    options: frozenset[str]
    """The options that the query may have besides `password`. A URL with `unix_socket` needs no host."""

    def parse(self, text: str) -> ServerUrl:
        """The URL's parts. Raises UsageError if it cannot be understood or has an unknown option. Of the URL, the
        message shows only the name of the first unknown option. After a password in the query it does not show that
        name, which may be a piece of the password: of one with an & that was not written as %26."""
        parts = url.parse(text)
        names_socket = parts and _SOCKET in self.options and any(name == _SOCKET for name, _ in parts.options)
        # There must be one host; none is needed where a socket is named.
        if parts is None or "," in parts.hosts or not (_PORT.sub("", parts.hosts) or names_socket):
            raise self.misunderstood()
        options: dict[str, str] = {}
        for name, value in parts.options:
            if name not in self.options and name != url.PASSWORD:
                which = "" if url.PASSWORD in options else f" {name}"
                raise UsageError(f"{self.title} URL: unknown option{which}. Known: {', '.join(sorted(self.options))}.")
            options[name] = unquote_plus(value)
        password = options.pop(url.PASSWORD, None)
        # Not every colon is before a port: an IPv6 address has some of its own.
        host, _, port = parts.hosts.rpartition(":") if _PORT.search(parts.hosts) else (parts.hosts, "", "")
        return ServerUrl(
            host=host.strip("[]").lower(),
            port=port,
            user=unquote(parts.user),
            path=unquote(parts.path.strip("/")),
            options=options,
            password=unquote(parts.password) if password is None else password,
        )

    def misunderstood(self) -> UsageError:
        """The error for a URL that cannot be understood."""
        return UsageError(
            f"the {self.title} URL cannot be understood: write {self.example}, special characters in user and password "
            "as %XX."
        )


class UrlServer(Provision):
    """The server at a URL. One connection stays open from `start` to `stop`; it holds the lock of the run."""

    def __init__(self, connect: Callable[[], OwnedSchema]) -> None:
        """`connect` opens a new connection, and raises EnvironmentMissing if the server cannot be reached."""
        self._connect = connect
        self._schema: OwnedSchema | None = None

    def start(self) -> Address:
        """Connects, takes the lock, and creates keybench's schema or database if it does not exist. EnvironmentMissing
        if the server does not answer, another run uses it, something that keybench did not make has a name that it
        needs, or the user lacks the permission."""
        schema = self._connect()
        try:
            if not schema.acquire():
                raise EnvironmentMissing(
                    f"{schema.place}: another run of keybench is using it, and both would use the same tables.\n"
                    "Wait until that run has ended, or choose another --server."
                )
            if foreign := ", ".join(schema.foreign()):
                raise EnvironmentMissing(
                    f"{schema.place}: {foreign} was not made by keybench, which needs the name for tables of its own.\n"
                    "Rename it, or choose another --server. Nothing was changed."
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

    def alive(self) -> bool:
        """Whether the connection that holds the lock is still there: a restart of the server ends it."""
        return self._schema is not None and not self._schema.lost()

    def ended(self) -> str:
        """That the server was restarted or is out of reach; empty if the connection is there."""
        return "" if self.alive() else "The server has ended its connections, or cannot be reached."

    def stop(self) -> None:
        """Removes the run's tables, and keybench's schema or database if nothing else is in it. EnvironmentMissing if
        that fails."""
        if self._schema is None:
            return
        schema, self._schema = self._schema, None
        try:
            with closing(schema):
                if not schema.lost():
                    schema.remove()
                    return
            with closing(self._connect()) as new_connection:  # the server has ended the old one
                new_connection.remove()
        except (EnvironmentMissing, ServerError) as error:
            raise EnvironmentMissing(
                f"{error}\nTables of this run may be left on {schema.place}: when it answers, remove them by "
                "`keybench clean --server URL`."
            ) from None
