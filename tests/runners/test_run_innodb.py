"""The whole command on a private MariaDB and MySQL, small."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keybench.databases.registry import engine
from keybench.generators.core.layout import layout, layouts
from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.results.store.database import Store
from keybench.runners.planning.columns import columns_for
from tests.runners.test_run import OF_OLDER_RUNS

Run = Callable[..., "subprocess.CompletedProcess[str]"]
DATABASES = ("mariadb", pytest.param("mysql", marks=pytest.mark.long))
pytestmark = pytest.mark.usefixtures("database")
SOME_ENGINES = {*OF_OLDER_RUNS, *(metric for metric in Metric if metric.definition.some_engines)}
LATER = {Metric.DELETE_SECONDS, Metric.REFILL_SECONDS, Metric.REFILLED_INDEX_BYTES}


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The engine's name."""
    if reason := engine(request.param).missing("local"):
        pytest.skip(reason)
    return str(request.param)


ON_MARIADB = pytest.mark.parametrize("database", ["mariadb"], indirect=True)


@pytest.mark.long
def test_every_layout_is_measured_in_a_column_that_takes_its_keys(
    here: Run, tmp_path: Path, servers_folder: Path, database: str
) -> None:
    done = here("--db", database, "--layout", "all", "--rows", "3000", "--blocks", "1", "--profile", "fast")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        run = store.run("latest")
        trials = store.trials(run.id)
        (environment,) = store.environments(run.id)
    assert environment.database == database
    assert ("MariaDB" in environment.versions[database]) == (database == "mariadb")
    assert {trial.layout for trial in trials} == {known.name for known in layouts().values()}
    for trial in trials:
        assert (trial.status, trial.database, trial.server) == ("ok", database, "local")
        given = {reading.metric: reading for reading in trial.readings}
        assert not set(Metric) - set(given) - LATER - {*SOME_ENGINES, *of_theme(Theme.KEYS), *of_theme(Theme.MACHINE)}
        assert given[Metric.LEAF_PAGES].value
    assert not list(servers_folder.iterdir())


@pytest.mark.long
def test_a_refill_after_deletions(here: Run, tmp_path: Path, database: str) -> None:
    done = here("--db", database, "--layout", "uuid-v4", "--scenario", "refill", "--rows", "5000", "--blocks", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        trials = store.trials(store.run("latest").id)
    for trial in trials:
        given = {reading.metric for reading in trial.readings}
        assert (trial.status, set(Metric) - given) == ("ok", {*of_theme(Theme.KEYS), *SOME_ENGINES})


@ON_MARIADB
def test_asking_for_uuid_by_name_explains_what_it_refuses(here: Run) -> None:
    assert columns_for(engine("mariadb"), layout("jhtodd-end"), []) == ["binary16"]
    done = here(
        "--db", "mariadb", "--layout", "jhtodd-end,uuid-v7", "--column", "uuid", "--rows", "3000", "--blocks", "1"
    )
    assert done.returncode == 1
    assert "uuid-v7 · uuid: 0" in done.stdout
    assert (
        " of 3000 keys of jhtodd-end (MariaDB's uuid takes no GUID whose seventh byte is 0x80 or more and whose ninth "
        "is 0x01 to 0x80): choose another --column."
    ) in done.stdout + done.stderr
