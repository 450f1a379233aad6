"""Running the command as a user does."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer

from keybench import cli
from keybench.databases.contract.roles import Admin, Provision
from keybench.databases.contract.settings import Profile
from keybench.databases.contract_suite.servers import folder_for_servers
from keybench.databases.registry import engine
from keybench.model.table import Table
from keybench.results.store.database import Store
from keybench.results.store.records import Trial
from keybench.runners.command import app
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.servers import Target
from keybench.scenarios.schema import Scenario

NO_DOCKER = "unix:///nonexistent/docker.sock"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(folder: Path) -> dict[str, str]:
    """The environment without this machine's keybench settings and Docker, with a folder of its own for servers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KEYBENCH_", "PG"))}
    own = {"KEYBENCH_TMP": str(folder), "TMPDIR": str(folder)}
    return {**kept, **own, "NO_COLOR": "1", "COLUMNS": "200", "DOCKER_HOST": NO_DOCKER}


@pytest.fixture
def servers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where private servers live; open to the unprivileged user that they run as."""
    return folder_for_servers()


@pytest.fixture
def variables(servers_folder: Path) -> dict[str, str]:
    """The environment of a run."""
    return environment(servers_folder)


@pytest.fixture
def command(variables: dict[str, str], tmp_path: Path) -> Run:
    """`keybench run …` in an empty folder, to its end, in a process of its own: for tests about that. To start Python,
    to import everything and to load the kernels takes it 3 s; `here` has them."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "keybench.runners.run", *arguments],
            cwd=tmp_path,
            env={**variables, **changes},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return run


def in_this_process(
    app: typer.Typer,
    variables: dict[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    sweep: bool = True,
) -> Run:
    """Runs a command to its end in a folder with these variables alone."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(folder)
        for name in os.environ.keys() - variables.keys():
            monkeypatch.delenv(name)
        for name, value in {**variables, **changes}.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.run(app, arguments, sweep=sweep)
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(end.value.code or 0), out, err)

    return run


@pytest.fixture
def here(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """`keybench run …` in an empty folder, to its end, in this process. Writers and servers are processes as ever."""
    return in_this_process(app, variables, tmp_path, monkeypatch, capsys)


def results(folder: Path) -> Store:
    """The results of the runs in that folder, to be read."""
    return Store.open(str(folder / "keybench-results.sqlite"), write=False)


def latest_trials(folder: Path) -> list[Trial]:
    with results(folder) as store:
        return store.trials(store.run("latest").id)


@contextmanager
def running(which: str, profile: Profile = "fast") -> Iterator[tuple[Target, Provision]]:
    """A server of `engine=kind`. The test is skipped where it cannot be had."""
    name, _, kind = which.partition("=")
    on = engine(name)
    if reason := on.missing(kind):
        pytest.skip(reason)
    provision = on.provision(kind, on.settings(profile, "default"))
    try:
        yield Target(on, kind, provision.start()), provision
    finally:
        provision.stop()


def prepared(
    target: Target, work: Scenario, rows: int, layout: str = "morris", column: str = "binary16-mssql"
) -> tuple[Table, tuple[KeySource, ...]]:
    """The table of one trial, and where its writers' keys come from. Without a column: the engine's own for GUIDs."""
    name = target.engine.name
    request = Request((name,), {name: target.server}, work, (layout,), (), rows, 1, "fast", 3, 60.0)
    trial = TrialPlan(1, 0, name, layout, column or target.engine.default_column("uuid").name, 100, rows)
    return trial.table(work), key_sources(request, trial)


@pytest.fixture
def admin(target: Target) -> Iterator[Admin]:
    """A connection to the server that the test module names `target`."""
    admin = target.engine.admin(target.address)
    yield admin
    admin.close()
