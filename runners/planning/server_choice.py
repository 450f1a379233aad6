"""Determines which server each database of a run uses, from the values of `--server`."""

from __future__ import annotations

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model.names import MODEL_SERVER

AUTO = "auto"


def is_url(server: str) -> bool:
    """Whether a server is given as an address instead of a kind."""
    return "://" in server


def resolve(databases: tuple[str, ...], asked: tuple[str, ...]) -> dict[str, str]:
    """A server for each database, from values like `auto`, `local`, `postgresql=local` or a URL.

    Raises UsageError for a value that fits no database, and EnvironmentMissing with the choices if nothing can be
    started.
    """
    general, named = AUTO, dict[str, str]()
    for value in asked or (AUTO,):
        name, equals, kind = value.partition("=")
        if is_url(value):
            named[_of_scheme(databases, value)] = value
        elif equals:
            if name not in databases:
                raise UsageError(
                    f"--server {value}: {name} is not among the databases of this run ({', '.join(databases)})."
                )
            named[name] = kind
        else:
            general = value
    return {name: _startable(engine(name), named.get(name, general)) for name in databases}


def _of_scheme(databases: tuple[str, ...], url: str) -> str:
    scheme = url.partition("://")[0].partition("+")[0]
    for name in databases:
        if scheme in engine(name).url_schemes:
            return name
    raise UsageError(
        f"--server {scheme}://…: none of the databases of this run ({', '.join(databases)}) is reached by such a URL."
    )


def _startable(on: Engine, server: str) -> str:
    if is_url(server):
        return server
    if server == MODEL_SERVER:
        if not on.has_page_model:
            raise UsageError(f"there is no page model of {on.title}: measure on a server, or choose another database.")
        return server
    if server == AUTO:
        reasons = {kind: on.missing(kind) for kind in on.servers}
        for kind, reason in reasons.items():
            if not reason:
                return kind
        raise EnvironmentMissing(
            f"no {on.title} server can be started here:"
            + "".join(f"\n  {r}" for r in reasons.values())
            + ("\n  without any server: --server model predicts the pages" if on.has_page_model else "")
        )
    if server not in on.servers:
        raise UsageError(
            f"{on.name} has no server kind {server!r} (it has: {', '.join(_kinds(on))}, auto"
            f"{', or a URL' if on.url_schemes else ''}). For one database only: --server {on.name}=KIND."
        )
    if reason := on.missing(server):
        raise EnvironmentMissing(reason)
    return server


def _kinds(on: Engine) -> list[str]:
    return [*on.servers, *([MODEL_SERVER] if on.has_page_model else [])]
