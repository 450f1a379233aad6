"""The address of a user's own server, from its URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.secret import from_url
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model import url

_KEYS: Final = frozenset({"scram_client_key", "scram_server_key"})
_ALIASES: Final = frozenset({"ssl"})
"""libpq takes `ssl=true` for `sslmode=require` (its fe-connect.c, conninfo_uri_parse_params)."""


@dataclass(frozen=True)
class Reached:
    """A system that is reached by the protocol and the options of PostgreSQL."""

    engine: str
    title: str
    port: str
    database: str = "database"
    """In the example of a URL."""
    mark: str = ""
    """What the answer to `SELECT version()` contains, in small letters; PostgreSQL's contains none of these."""


POSTGRESQL: Final = Reached("postgresql", "PostgreSQL", "5432")


@runtime_checkable
class IsReached(Protocol):
    """An engine whose servers speak PostgreSQL's protocol, and are not PostgreSQL."""

    @property
    def reached(self) -> Reached:
        """How it is reached."""
        ...


def require(wanted: str, version: str) -> None:
    """EnvironmentMissing if that is the version of another system: its figures must not stand under a wrong name.

    `wanted`: the name of the engine; `version`: what the server answers to `SELECT version()`.
    """
    others = [on.reached for on in engines().values() if isinstance(on, IsReached)]
    actual = next((of for of in others if of.mark in version.lower()), POSTGRESQL)
    if actual.engine != wanted:
        raise EnvironmentMissing(
            f"this server is {actual.title} ({version.partition(' (')[0].partition(' on ')[0]}), not "
            f"{engine(wanted).title}: use --db {actual.engine} --server {actual.engine}://…, with the rest of the URL "
            "as it is."
        )


def address_of(text: str, of: Reached = POSTGRESQL) -> Address:
    """The address of a postgresql:// URL, with a reference in place of its password.

    Raises UsageError, which does not show the URL, if it cannot be understood or holds another kind of secret.
    """
    parts = url.parse(text)
    try:
        plain = text if of is POSTGRESQL else f"postgresql://{text.partition('://')[2]}"  # libpq's own scheme
        given = {name: str(value) for name, value in conninfo_to_dict(plain).items()} if parts else {}
    except (psycopg.Error, ValueError):
        given = {}
    if parts:
        _check_options(parts, of)
    if not given:
        raise UsageError(
            f"the {of.title} URL cannot be understood: write {of.engine}://user@host:{of.port}/{of.database}, "
            "special characters in a password as %XX."
        )
    password = given.pop(url.PASSWORD, "")
    if of is not POSTGRESQL:
        given.setdefault("port", of.port)
    return Address(of.engine, "url", given, secret=from_url(password))


def _check_options(parts: url.Url, of: Reached) -> None:
    """UsageError for an option that libpq does not know, and for one that it marks as a secret."""
    known = {option.keyword.decode(): option.dispchar == b"*" for option in Conninfo.get_defaults()}
    names = [name for name, _ in parts.options]
    for place, name in enumerate(names):
        if name not in known and name not in _ALIASES:
            named = "" if url.PASSWORD in names[:place] else f" {name}"
            raise UsageError(
                f"{of.title} URL: unknown option{named}. Known: host, port, dbname, user, password, sslmode and the "
                "other connection parameters of libpq."
            )
        if name != url.PASSWORD and (known.get(name) or name in _KEYS):
            raise UsageError(
                f"{name} in a URL is not supported: use a client key without one, or a service file."
                if name == "sslpassword"
                else f"{name} in a URL is not supported: use a service file."
            )
