"""The servers of a run: started when first needed, restarted if they have died, and stopped at the end of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address, Provision
from keybench.databases.contract.settings import Profile
from keybench.databases.hosting.container import KIND
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing, KeybenchError, RunStopped
from keybench.model.url import is_url
from keybench.results.store.records import Environment
from keybench.runners.planning.server_choice import check_settings, settings_of
from keybench.runners.planning.trial_plan import Request

_ANSWERS = 60.0
"""Seconds in which a server has to answer after a restart."""
_REPORTED = 3.0
"""Seconds in which Docker reports the end of a container whose server no longer answers."""


class RunServers:
    """All servers of one run. `close` stops them (`contextlib.closing`)."""

    def __init__(
        self,
        request: Request,
        urls: Mapping[str, str],
        note: Callable[[Environment], None],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`urls` are as the user gave them, with passwords. `note` is called with the environment of each server that
        is started, and `say` with lines for the user."""
        self._request = request
        self._urls = urls
        self._note = note
        self._say = say
        self._running: dict[str, tuple[Provision, Target]] = {}

    def reach(self, database: str) -> Target:
        """The database's server, started if it is not running. RunStopped if a user's own does not answer for 60 s."""
        if database in self._running:
            provision, target = self._running[database]
            if provision.alive() and _answers(target):
                return target
            if is_url(self._request.servers[database]):
                self._wait(target)
            provision.stop()  # removes what is left of it, on a user's own server too; `_start` begins anew
            del self._running[database]
        return self._start(database, self._request.profile)

    def restart(self, database: str) -> None:
        """Starts a running server again on its files, and waits until it answers. EnvironmentMissing if it does not."""
        provision, target = self._running[database]
        provision.restart()
        deadline = time.monotonic() + _ANSWERS
        while not _answers(target):
            if not provision.alive() or time.monotonic() > deadline:
                raise EnvironmentMissing(f"{target.engine.title} does not answer after its restart: see its log.")
            time.sleep(0.1)

    def _wait(self, target: Target) -> None:
        """Waits for a server that somebody else restarts. RunStopped if it does not come back."""
        deadline = time.monotonic() + _ANSWERS
        if not _answers(target):
            self._say(f"{target.engine.title} does not answer: waiting for it for {_ANSWERS:g} s")
        while not _answers(target):
            if time.monotonic() > deadline:
                raise RunStopped(f"{target.engine.title} has not answered for {_ANSWERS:g} s: start it, and go on.")
            time.sleep(0.5)

    def gone(self, database: str) -> str:
        """Why the database's server went away, and the next step, as a sentence. Empty if the server is there, or if
        nobody knows the reason within `_REPORTED` seconds."""
        if database not in self._running:
            return ""
        provision, target = self._running[database]
        if type(provision).ended is Provision.ended:  # not overridden: this kind of server never knows
            return ""
        deadline = time.monotonic() + _REPORTED
        while not (why := provision.ended()) and not _answers(target) and time.monotonic() < deadline:
            time.sleep(0.1)
        return why or provision.ended()  # asked once more: it may be reported just now

    def _start(self, database: str, profile: Profile) -> Target:
        """Starts the database's server, checks its settings, and notes its versions and settings."""
        # start it
        on, server = engine(database), self._request.servers[database]
        chosen = settings_of(self._request.scenario, on)
        settings = on.configured(on.settings(profile, self._request.scenario.server.cache), chosen)
        container = self._request.container(database)
        provision = on.provision(self._urls.get(database, server), replace(settings, container=container))
        if server == KIND:
            self._say(f"starting {on.title} in a container; its image is pulled first if it is missing")
        address = provision.start()
        self._running[database] = provision, Target(on, address.server, address)  # so that an error below stops it, too
        # ask it what it is
        with closing(on.admin(address)) as admin:
            reported = dict(admin.page_settings())
            check_settings(on, chosen, reported)
            target = Target(on, address.server, address, reported)  # as above, with what it reports
            self._running[database] = provision, target
            versions, to_note = dict(admin.versions()), {**chosen, **admin.settings()}
            to_note |= provision.described()
            to_note |= self._request.scenario.load_path.environment
        version = next(iter(versions.values()), "of an unknown version")  # the first one is the server's
        self._say(f"{on.title}: {version} ({target.server})")
        self._note(Environment(database, target.server, versions, to_note, settings.cache_bytes))
        return target

    def close(self) -> None:
        """Stops all servers."""
        while self._running:
            _, (provision, _target) = self._running.popitem()
            provision.stop()


def _answers(target: Target) -> bool:
    """Whether the server lets keybench log in.

    The news that a server was killed comes late: Docker calls a container running for a moment, and the keeper of a
    private server needs a moment to report. Without this check, one dead server would fail two trials.
    """
    try:
        target.engine.admin(target.address).close()
    except KeybenchError:
        return False
    return True


@dataclass(frozen=True)
class Target:
    """A running server and its engine."""

    engine: Engine
    server: str
    """The server kind as it is recorded."""
    address: Address
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings on which pages depend, as the server reports them (`Admin.page_settings`)."""
