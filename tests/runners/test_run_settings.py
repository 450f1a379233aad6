"""Whole runs with settings that were chosen, or that a user's own server has; containers without a daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.model.metric import Metric
from keybench.model.subject import KEY, MODEL, Subject
from tests.runners.conftest import Run, results

installed = pytest.mark.skipif(bool(ENGINE.missing("local")), reason="no MariaDB server is installed")
SMALL = ("--layout", "uuid-v4", "--rows", "20000", "--blocks", "1", "--profile", "fast")


def figures(folder: Path, of: Subject, layout: str = "uuid-v4") -> dict[str, dict[Metric, float]]:
    """By database: the values of a layout's trial."""
    found = {}
    with results(folder) as store:
        for trial in store.trials(store.run("latest").id):
            assert (trial.status, trial.error) == ("ok", "")
            if trial.layout == layout:
                known = {r.metric: r.value for r in trial.readings if r.subject == of and r.value is not None}
                found[trial.database] = known
    return found


def settings(folder: Path) -> dict[str, str]:
    """What is recorded of the run's only server."""
    with results(folder) as store:
        (environment,) = store.environments(store.run("latest").id)
    return dict(environment.settings)


@pytest.mark.parametrize(
    ("database", "server", "chosen", "leaves"),
    [
        pytest.param("mariadb", "local", "page_size=4K", 1039, marks=[installed, pytest.mark.long]),
        ("sqlite", "embedded", "page_size=1K", None),
        ("postgresql", "embedded", "fillfactor=60", None),
    ],
)
def test_the_model_knows_a_setting_that_was_chosen(
    here: Run, tmp_path: Path, database: str, server: str, chosen: str, leaves: int | None
) -> None:
    done = here("--db", database, "--server", server, "--set", chosen, *SMALL)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    name, _, value = chosen.partition("=")
    assert f"settings: {database}.{name} = {value}\n" in done.stdout
    for layout in ("uuid-v4", "bigint-identity"):
        real, modelled = (figures(tmp_path, of, layout)[database] for of in (KEY, MODEL))
        both = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
        assert {metric: modelled[metric] for metric in both} == pytest.approx({m: real[m] for m in both}, 1e-12)
        assert leaves in (None, real[Metric.LEAF_PAGES]) or layout != "uuid-v4"


def test_the_models_alone_know_it_too(here: Run, tmp_path: Path) -> None:
    databases = ("--db", "mariadb,mssql", "--server", "model", *SMALL)
    assert here(*databases).returncode == 0
    usual = figures(tmp_path, KEY)
    chosen = ("--set", "page_size=4K", "--set", "mssql.row_versioning=rcsi")
    assert here(*databases, *chosen).returncode == 0
    other = figures(tmp_path, KEY)
    assert other["mariadb"][Metric.LEAF_PAGES] == 1039 > 4 * usual["mariadb"][Metric.LEAF_PAGES] > 900
    assert other["mssql"][Metric.LEAF_PAGES] > usual["mssql"][Metric.LEAF_PAGES]
    with results(tmp_path) as store:
        recorded = {each.database: each.settings for each in store.environments(store.run("latest").id)}
    assert recorded == {"mariadb": {"page_size": "4K"}, "mssql": {"row_versioning": "rcsi"}}


@pytest.fixture
def url(servers_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A user's own MariaDB with pages of 4 KiB."""
    monkeypatch.setenv("KEYBENCH_TMP", str(servers_folder))
    server = ENGINE.provision("local", ENGINE.configured(ENGINE.settings("fast", "small"), {"page_size": "4K"}))
    address = server.start()
    try:
        admin = MySqlAdmin(address)
        admin.rows("DROP DATABASE keybench")
        admin.close()
        yield f"mariadb://root@localhost?unix_socket={address.parameters['unix_socket']}"
    finally:
        server.stop()


@installed
@pytest.mark.long
def test_the_model_knows_the_page_size_of_a_users_own_server(here: Run, tmp_path: Path, url: str) -> None:
    """Where the model took 16 KiB for granted, it had 254 leaves and a counter of 255."""
    done = here("--db", "mariadb", "--server", url, *SMALL)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    real, modelled = (figures(tmp_path, of)["mariadb"] for of in (KEY, MODEL))
    for metric in (Metric.LEAF_PAGES, Metric.LEAF_DENSITY, Metric.SPLIT_COUNTER):
        assert modelled[metric] == pytest.approx(real[metric], 1e-12)
    assert real[Metric.LEAF_PAGES] == 1039
    assert settings(tmp_path)["innodb_page_size"] == "4096"
    done = here("--db", "mariadb", "--server", url, "--set", "page_size=8K", *SMALL)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "keybench: --set page_size=8K: this MariaDB server has page_size = 4K, which keybench does not change. Leave "
        "the setting out, or measure on a server that keybench starts."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--db", "postgresql", "--server", "model", "--set", "fillfactor=5"),
         "fillfactor of postgresql is a whole number from 10 to 100, not '5'."),
        (("--scenario", "generation", "--set", "a=b"), "only makes keys, without a database: leave out --set."),
        (("--db", "sqlite", "--image", "postgres:17"),
         "--image postgres:17: write DB=NAME:TAG, where DB is one of this run's databases (sqlite), as in "
         "postgresql=postgres:17."),
    ],
)  # fmt: skip
def test_options_that_contradict_the_run_are_refused(here: Run, arguments: tuple[str, ...], message: str) -> None:
    done = here(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("keybench: ")
    assert done.stderr.endswith(f"{message}\n")


def test_without_docker_the_error_for_a_container_names_the_alternatives(here: Run) -> None:
    done = here("--db", "postgresql", "--server", "container")
    assert done.returncode == 4
    assert done.stderr == (
        "keybench: PostgreSQL in a container needs Docker, and no daemon answers at "
        "unix:///nonexistent/docker.sock (No such file or directory): start Docker, or choose --server "
        "postgresql=local, which needs none, or give the URL of a server of yours, --server "
        "postgresql://user@host/database.\n"
    )
