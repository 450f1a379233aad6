"""The URL of a user's own server, for engines whose driver parses no URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, unquote_plus

from keybench.errors import UsageError
from keybench.model import url

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
        """The URL's parts. Raises UsageError if it cannot be understood or has an unknown option.

        The message shows nothing of the URL but the name of the first unknown option, and not even that after a
        password in the query: it may be a piece of the password, after an & that was not written as %26.
        """
        parts = self._split(text)
        if parts is None:
            raise self.misunderstood()
        options: dict[str, str] = {}
        for name, value in parts.options:
            if name not in self.options and name != url.PASSWORD:
                named = "" if url.PASSWORD in options else f" {name}"
                raise UsageError(f"{self.title} URL: unknown option{named}. Known: {', '.join(sorted(self.options))}.")
            options[name] = unquote_plus(value)
        password = options.pop(url.PASSWORD, None)
        host, _, port = parts.hosts.rpartition(":") if _PORT.search(parts.hosts) else (parts.hosts, "", "")
        return ServerUrl(
            host=host.strip("[]").lower(),
            port=port,
            user=unquote(parts.user),
            path=unquote(parts.path.strip("/")),
            options=options,
            password=unquote(parts.password) if password is None else password,
        )

    def query(self, text: str) -> Mapping[str, str]:
        """The options of the query. A URL that cannot be understood has none: `parse` reports the error."""
        parts = self._split(text)
        return {name: unquote_plus(value) for name, value in parts.options} if parts else {}

    def misunderstood(self) -> UsageError:
        """The error for a URL that cannot be understood."""
        return UsageError(
            f"the {self.title} URL cannot be understood: write {self.example}, special characters in user and password "
            "as %XX."
        )

    def _split(self, text: str) -> url.Url | None:
        """The URL's parts; None if it cannot be split, names several hosts, or names none and no socket."""
        parts = url.parse(text)
        if parts is None or "," in parts.hosts:
            return None
        socket = _SOCKET in self.options and any(name == _SOCKET for name, _ in parts.options)
        return parts if _PORT.sub("", parts.hosts) or socket else None
