"""The whole command on real servers, small: PostgreSQL, SQLite, MariaDB and MySQL."""

from pathlib import Path

import pytest

from keybench.databases.registry import engine
from keybench.generators.core.layout import layout, layouts
from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.names import CONTROL
from keybench.model.subject import KEY, MACHINE
from keybench.results.store import blobs
from keybench.runners.planning.columns import columns_for
from keybench.scenarios.files import load_scenario
from tests.runners.conftest import Run, latest_trials, results

SMALL = ("--rows", "3000", "--blocks", "1")
"""Too few for pilots."""


def test_the_default_run_measures_the_scenarios_layouts_on_both_databases(
    command: Run, tmp_path: Path, servers_folder: Path
) -> None:
    done = command(*SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    with results(tmp_path) as store:
        run = store.run("latest")
        trials = store.trials(run.id, blobs=True)
        assert {e.database for e in store.environments(run.id)} == {"postgresql", "sqlite"}
    names = {CONTROL, *load_scenario("quick").layouts}
    assert {(t.database, t.layout) for t in trials} == {(d, n) for d in ("postgresql", "sqlite") for n in names}
    assert all(t.status == "ok" and t.server == "embedded" for t in trials)
    for trial in trials:
        own = [reading for reading in trial.readings if reading.subject == KEY]
        given = [reading.metric for reading in own]
        assert len(given) == len(set(given)), f"{trial.database} gives a metric twice"
        others = {
            *of_theme(Theme.KEYS),
            *of_theme(Theme.MACHINE),
            *(metric for metric in Metric if metric.definition.some_engines),
        }
        assert {r.metric for r in trial.readings if r.subject == MACHINE} == set(of_theme(Theme.MACHINE))
        missing = set(Metric) - set(given) - others
        assert not missing, f"{trial.database} neither gives {missing} nor says why not"
        assert all((r.value is None) == (r.origin == "absent") and bool(r.reason) == (r.value is None) for r in own)
        kept = {blob.kind: blob for blob in trial.blobs}
        assert set(kept) == {blobs.PAGES, blobs.MODEL_PAGES, blobs.POSITIONS}, "the cache holds all"
        real, predicted = (kept[kind].arrays["rows"].tolist() for kind in (blobs.PAGES, blobs.MODEL_PAGES))
        assert real == predicted, "rows on each leaf, in key order"
    assert "the trials are small: pilots would insert a quarter of their rows or more" in done.stdout
    assert f"next: keybench report {run.id} -o report.html" in done.stdout
    assert not list(servers_folder.iterdir())


EVERY = {known.name for known in layouts().values()}


def one_of_each_form() -> set[str]:
    """A layout for each kind, order and width that there are."""
    forms = {(known.kind, known.order, known.key_bytes): known.name for known in layouts().values()}
    return {CONTROL, *forms.values()}


@pytest.mark.parametrize(
    ("databases", "server", "names"),
    [
        pytest.param("sqlite", "embedded", one_of_each_form(), id="one of each form"),
        pytest.param("postgresql,sqlite", "embedded", EVERY, id="all", marks=pytest.mark.long),
        *(pytest.param(name, "local", EVERY, id=name, marks=pytest.mark.long) for name in ("mariadb", "mysql")),
    ],
)
def test_layouts_of_every_form_can_be_measured(
    here: Run, tmp_path: Path, databases: str, server: str, names: set[str]
) -> None:
    if server == "local" and (reason := engine(databases).missing("local")):
        pytest.skip(reason)
    options = ("--rows", "600", "--blocks", "1", "--profile", "fast")
    done = here("--db", databases, "--server", server, "--layout", ",".join(names), *options)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    trials = latest_trials(tmp_path)
    assert {(t.database, t.layout) for t in trials} == {(d, n) for d in databases.split(",") for n in names}
    assert {(t.server, t.status) for t in trials} == {(server, "ok")}


def test_writers_columns_profile_and_configuration_reach_the_results(here: Run, tmp_path: Path) -> None:
    (tmp_path / "keybench.toml").write_text('[run]\ndb = "sqlite"\nlayout = ["rt-comb-sql"]\n')
    done = here(*SMALL, "--column", "binary16-mssql", "--writers", "2", KEYBENCH_PROFILE="fast")
    assert done.returncode == 0, done.stdout + done.stderr
    with results(tmp_path) as store:
        run = store.run("latest")
        trials = {trial.layout: trial for trial in store.trials(run.id)}
    assert run.profile == "fast"
    assert {name: (t.database, t.column, t.writers) for name, t in trials.items()} == {
        "bigint-identity": ("sqlite", "integer", 2),
        "rt-comb-sql": ("sqlite", "binary16-mssql", 2),
    }


def test_a_dry_run_starts_nothing_and_writes_nothing(here: Run, tmp_path: Path) -> None:
    done = here("--dry-run", "--layout", "uuid-v4", "--blocks", "2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "8 trials in 2 blocks" in done.stdout
    assert sum(line.startswith("  block ") for line in lines) == 8
    assert not list(tmp_path.glob("*.sqlite"))


def test_resuming_a_finished_run_has_nothing_to_do(here: Run) -> None:
    arguments = ("--db", "sqlite", "--layout", "uuid-v4", *SMALL)
    assert here(*arguments).returncode == 0
    done = here("--resume", "latest")
    assert done.returncode == 0, done.stderr
    assert "2 trials in 1 block, 3,000 rows in each trial, 2 of them recorded already; 0 rows to insert" in done.stdout
    assert "the largest trial" not in done.stdout


def test_a_trial_that_takes_too_long_is_a_row_and_the_run_goes_on(here: Run, tmp_path: Path) -> None:
    done = here("--db", "sqlite", "--layout", "uuid-v4", "--rows", "1500000", "--trial-timeout", "1", "--blocks", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    trials = latest_trials(tmp_path)
    assert len(trials) == 2
    assert next(t.error for t in trials if t.layout == "uuid-v4").startswith("no result after ")


@pytest.mark.skipif(bool(engine("mariadb").missing("local")), reason="no MariaDB server is installed")
def test_asking_for_uuid_by_name_explains_what_it_refuses(here: Run) -> None:
    assert columns_for(engine("mariadb"), layout("jhtodd-end"), []) == ["binary16"]
    done = here(
        "--db", "mariadb", "--layout", "jhtodd-end,uuid-v7", "--column", "uuid", "--rows", "500", "--blocks", "1",
        "--profile", "fast",
    )  # fmt: skip
    assert done.returncode == 1
    assert "uuid-v7 · uuid: 0" in done.stdout
    assert (
        " of 500 keys of jhtodd-end (MariaDB's uuid takes no GUID whose seventh byte is 0x80 or more and whose ninth "
        "is 0x01 to 0x80): choose another --column."
    ) in done.stdout + done.stderr
