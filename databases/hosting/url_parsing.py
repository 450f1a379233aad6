"""The URL of a user's own server, for engines whose driver parses none; and the error where it cannot be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.contract.roles import Address
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError, UsageError

_SOCKET = "unix_socket"


@dataclass(frozen=True)
class ServerUrl:
    """The parts of a URL, decoded; empty where it has none."""

    host: str
    port: str
    user: str
    path: str
    options: Mapping[str, str]
    """Of its query, without the password."""
    password: str = field(repr=False)


@dataclass(frozen=True)
class UrlForm:
    """What a database's URLs look like."""

    title: str
    """The database's name in messages."""
    example: str
    options: frozenset[str]
    """The options that its query may have, besides `password`. With `unix_socket` a URL needs no host."""

    def parse(self, url: str) -> ServerUrl:
        """The URL's parts; UsageError, without the URL, where it cannot be understood or has an unknown option."""
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
        """The options of its query; none where the URL cannot be understood, which `parse` reports."""
        parts = self._split(url)
        return dict(parse_qsl(parts.query)) if parts else {}

    def misunderstood(self) -> UsageError:
        """The error for a URL that cannot be understood."""
        return UsageError(
            f"the {self.title} URL cannot be understood: write {self.example}, special characters in user and password "
            "as %XX."
        )

    def _split(self, url: str) -> SplitResult | None:
        """The URL's parts; None where it has none. urllib's own message would show the URL."""
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            return None
        socket = _SOCKET in self.options and f"{_SOCKET}=" in parts.query
        return parts if parts.hostname or socket else None


def unreachable(address: Address, title: str, place: str, reason: str, to_check: str) -> KeybenchError:
    """The error where a connection fails, without the password.

    EnvironmentMissing for the server of a URL, with the parts of the URL that the user should check; else ServerError.
    """
    secret = address.secret.reveal() if address.secret else ""
    shown = (reason.replace(secret, "***") if secret else reason).rstrip(". ")
    if address.server == "url":
        return EnvironmentMissing(
            f"{title} at {place} cannot be reached: {shown}.\nCheck {to_check} in the URL, and that the server is up."
        )
    return ServerError(f"the {title} server of this run does not answer: {shown}.")
