"""The URL of a user's own server, for engines whose driver parses no URLs, and the error for unreachable servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.contract.roles import Address
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError, UsageError

_SOCKET = "unix_socket"


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

    def parse(self, url: str) -> ServerUrl:
        """The URL's parts. Raises UsageError if it cannot be understood or has an unknown option.

        The message does not show the URL.
        """
        parts = self._split(url)
        if parts is None:
            raise self.misunderstood()
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        password = options.pop("password", None)
        if unknown := sorted(set(options) - self.options):
            raise UsageError(
                f"{self.title} URL: unknown option {unknown[0]}. Known: {', '.join(sorted(self.options))}."
            )
        return ServerUrl(
            host=parts.hostname or "",
            port=str(parts.port or ""),
            user=unquote(parts.username or ""),
            path=unquote(parts.path.strip("/")),
            options=options,
            password=unquote(parts.password or "") if password is None else password,
        )

    def query(self, url: str) -> Mapping[str, str]:
        """The options of the query. A URL that cannot be understood has none: `parse` reports the error."""
        parts = self._split(url)
        return dict(parse_qsl(parts.query)) if parts else {}

    def misunderstood(self) -> UsageError:
        """The error for a URL that cannot be understood."""
        return UsageError(
            f"the {self.title} URL cannot be understood: write {self.example}, special characters in user and password "
            "as %XX."
        )

    def _split(self, url: str) -> SplitResult | None:
        """The URL's parts; None if it cannot be split. urllib's own message would show the URL."""
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            return None
        socket = _SOCKET in self.options and f"{_SOCKET}=" in parts.query
        return parts if parts.hostname or socket else None


def unreachable(address: Address, title: str, place: str, reason: str, to_check: str) -> KeybenchError:
    """The error for a failed connection, without the password.

    For the server of a URL it is EnvironmentMissing and names the parts of the URL that the user should check. For
    other servers it is ServerError.
    """
    secret = address.secret.reveal() if address.secret else ""
    shown = (reason.replace(secret, "***") if secret else reason).rstrip(". ")
    if address.server == "url":
        return EnvironmentMissing(
            f"{title} at {place} cannot be reached: {shown}.\nCheck {to_check} in the URL, and that the server is up."
        )
    return ServerError(f"the {title} server of this run does not answer: {shown}.")
