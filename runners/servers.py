"""The servers of a run: started when first needed, started again when they have died, stopped at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from keybench.databases.capabilities import Keepable
from keybench.databases.contract import Provision
from keybench.databases.engine import Engine
from keybench.databases.hosting.container import KIND, Contained
from keybench.databases.options import Profile
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model.names import MODEL_SERVER
from keybench.results.store.store import Environment
from keybench.runners.planning.plan import Request
from keybench.runners.trials import bulk
from keybench.runners.trials.server_trial import Target

AUTO = "auto"


def is_url(server: str) -> bool:
    """Whether a server is named by its address instead of by its kind."""
    return "://" in server


def resolve(databases: tuple[str, ...], asked: tuple[str, ...]) -> dict[str, str]:
    """A server for each database, from values like `auto`, `local`, `postgresql=local` or a URL.

    Raises UsageError for what fits no database, EnvironmentMissing with the choices where nothing can be started.
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


class Servers:
    """All servers of one run, as a context manager."""

    def __init__(
        self,
        request: Request,
        urls: Mapping[str, str],
        note: Callable[[Environment], None],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`urls` holds the URLs as the user gave them, with passwords; `note` is told each server's environment, `say`
        what a person should know."""
        self._request = request
        self._urls = urls
        self._note = note
        self._say = say
        self._running: dict[str, tuple[Provision, Target]] = {}

    def reach(self, database: str) -> Target:
        """The database's server, running."""
        provision, target = self._running.get(database, (None, None))
        if provision is not None and target is not None:
            if provision.alive():
                return target
            provision.stop()
            del self._running[database]
        return self._start(database, self._request.profile)

    def _start(self, database: str, profile: Profile) -> Target:
        on, server = engine(database), self._request.servers[database]
        settings = on.settings(profile, self._request.scenario.server.cache)
        container = self._request.container(database)
        provision = on.provision(self._urls.get(database, server), replace(settings, container=container))
        if server == KIND:
            self._say(f"starting {on.title} in a container; an image that is not here yet is pulled first")
        address = provision.start()
        target = Target(on, address.server, address)
        self._running[database] = provision, target
        admin = on.admin(address)
        try:
            versions, values = dict(admin.versions()), dict(admin.settings())
            if isinstance(provision, Contained):
                values |= provision.described()
            if bulk.chosen(self._request.scenario):
                values |= bulk.RECORDED
        finally:
            admin.close()
        self._note(Environment(database, target.server, versions, values, settings.cache_bytes))
        return target

    def stop(self) -> None:
        """Stops them all."""
        while self._running:
            _, (provision, _target) = self._running.popitem()
            if isinstance(provision, Keepable) and (how := provision.reached_by()):
                self._say(how)
            provision.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
