"""The options of `keybench run` as they were given, and the request that they describe."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import get_args

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.options import Profile
from keybench.databases.hosting.container import KIND
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError, unknown_name
from keybench.model.names import MODEL_SERVER
from keybench.model.url import is_url, without_password
from keybench.runners import config
from keybench.runners.planning import chosen_settings, load_path_support, server_keys
from keybench.runners.planning.columns import check_columns, check_scenario
from keybench.runners.planning.server_choice import check_restarts, resolve
from keybench.runners.planning.trial_plan import ALL, Request, resolve_layouts
from keybench.runners.trials import model_server
from keybench.runners.writers import placement
from keybench.scenarios.files import load_scenario
from keybench.scenarios.payload_option import with_payload
from keybench.scenarios.schema import Scenario


@dataclass(frozen=True)
class Options:
    """Values of the options. Lists are comma-separated text. Empty text and None mean that the option was not given."""

    given: frozenset[str]
    """Parameters whose value is on the command line, not in the environment or the configuration."""
    db: str
    layout: str
    scenario: str
    server: Sequence[str]
    column: str
    settings: Sequence[str]
    rows: int | None
    writers: int | None
    payload: str
    executor: str
    blocks: int | None
    profile: str
    seed: int
    image: str
    memory_bytes: int
    cpus: float
    keep_server: bool
    trial_timeout: float
    ram: str = ""
    checkpoint: str = ""

    def request(self) -> tuple[Request, dict[str, str]]:
        """The request, and the server of each database: its kind, or its URL with the password.

        Raises UsageError for an unknown name and for options that exclude one another, and EnvironmentMissing if a
        server cannot be started here.
        """
        scenario = load_scenario(self.scenario)
        if scenario.generation:
            self._refuse_databases(scenario)
        databases = self._databases(scenario)
        if self.writers is not None:
            scenario = scenario.with_equal_writers(self.writers)
        if self.payload:
            scenario = with_payload(scenario, self.payload)
        scenario = chosen_settings.resolved(scenario, databases, chosen_settings.read(self.settings))
        columns = names(self.column)
        if columns:
            check_columns(databases, columns)
        else:
            check_scenario(scenario, databases)
        layouts = resolve_layouts(names(self.layout), scenario)
        server_keys.check(layouts, databases, scenario)
        load_path_support.check_databases(scenario, databases)
        if self.profile not in get_args(Profile):
            raise unknown_name("profile", self.profile, get_args(Profile))
        servers = resolve(databases, server_names(self.server or ([] if self.db else [config.SERVER])))
        load_path_support.check_servers(scenario, servers)
        check_restarts(scenario, servers)
        server_keys.check_servers(layouts, servers)
        if self.keep_server and KIND not in servers.values():
            raise UsageError(
                "--keep-server keeps containers, and this run has none: private servers of other kinds end with the "
                "run. Choose --server container, or start a server by hand and give its URL."
            )
        placement.check(self.executor, servers)
        memory = model_server.chosen(self.ram, self.checkpoint, servers)
        request = Request(
            databases=databases,
            servers={name: without_password(server) for name, server in servers.items()},
            scenario=scenario,
            layouts=layouts,
            columns=columns,
            rows=self.rows,
            blocks=self.blocks or scenario.blocks,
            profile=self.profile,  # type: ignore[arg-type]
            seed=self.seed,
            trial_timeout=self.trial_timeout,
            images=_images(self.image, databases),
            memory=self.memory_bytes,
            cpus=self.cpus,
            keep_server=self.keep_server,
            executor=self.executor,
            **memory,
        )
        model_server.check(request)
        return request, servers

    def notes(self, request: Request) -> list[str]:
        """What the user should know about the chosen layouts before the run."""
        asked = names(self.layout) or request.scenario.layouts
        notes = [server_keys.left_out_of_models(request.layouts, request.servers)]
        if not asked or ALL in asked:
            notes.append(server_keys.left_out_of_all(request.layouts, request.servers, request.scenario))
        return [note for note in (*notes, *model_server.notes(request)) if note]

    def _refuse_databases(self, scenario: Scenario) -> None:
        """UsageError if options were given that apply only to runs with a database."""
        if given := [
            name for name in ("db", "server", "column", "set", "writers", "payload", "executor") if name in self.given
        ]:
            raise UsageError(
                f"scenario {scenario.name} only makes keys, without a database: leave out {_spelled(given)}."
            )

    def _databases(self, scenario: Scenario) -> tuple[str, ...]:
        if scenario.generation:
            return ()
        if self.db and not names(self.db):
            raise UsageError(f"--db {self.db!r} names no database: name one, such as sqlite, or leave the option out.")
        if self.db == "all":
            asked = server_names(self.server)
            return tuple(name for name, on in engines().items() if _has(on, asked))
        return tuple(engine(name).name for name in names(self.db)) or config.DATABASES

    def refuse_beside_resume(self, allowed: set[str]) -> None:
        """UsageError for options other than those `allowed` with --resume: the run has its own values."""
        if given := sorted(self.given - allowed):
            raise UsageError(f"--resume goes on with the run as it was planned: leave out {_spelled(given)}.")


def _has(on: Engine, asked: tuple[str, ...]) -> bool:
    """Whether the servers asked for have one of the engine: one is named for it, or it has the kind that is for all."""
    if any(server.partition("=")[0] == on.name or (is_url(server) and on.reached_by(server)) for server in asked):
        return True
    kinds = {server for server in asked if not is_url(server) and "=" not in server}
    return bool(on.has_page_model if MODEL_SERVER in kinds else on.servers)


def _spelled(parameters: Sequence[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in parameters)


def names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list, each once."""
    return tuple(dict.fromkeys(name for name in (part.strip() for part in text.split(",")) if name))


def server_names(values: Sequence[str]) -> tuple[str, ...]:
    """The servers in the values of --server: a URL is one server, any other value is a comma-separated list."""
    return tuple(name for value in values for name in ((value,) if is_url(value) else names(value)))


def _images(text: str, databases: tuple[str, ...]) -> dict[str, str]:
    """Container images by database, from `postgresql=postgres:17,mysql=mysql:9`."""
    images = {}
    for value in names(text):
        name, _, image = value.partition("=")
        if name not in databases or not image:
            raise UsageError(
                f"--image {value}: write DB=NAME:TAG, where DB is one of this run's databases "
                f"({', '.join(databases) or 'none'}), as in postgresql=postgres:17."
            )
        images[name] = image
    return images


@contextmanager
def licences_accepted(databases: str) -> Iterator[None]:
    """Until the block ends, tells the engines which databases' licence terms the user accepts."""
    variable = "KEYBENCH_ACCEPT_EULA"
    before = os.environ.get(variable)
    try:
        if databases:
            os.environ[variable] = ",".join(engine(name).name for name in names(databases))
        yield
    finally:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before
