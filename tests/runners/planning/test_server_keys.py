"""Layouts that only servers make, from the command to the results."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keybench.databases.registry import engine, engines
from keybench.generators.core.layout import layouts
from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.store.database import Store

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_they_are_measured_where_they_are_made(here: Run, tmp_path: Path) -> None:
    layouts = "server-identity,server-uuid-v4,server-uuidv7"
    done = here("--db", "postgresql,sqlite", "--server", "embedded", "--layout", layouts, *SMALL, "--writers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        trials = store.trials(store.run("latest").id)
    found = {(trial.database, trial.layout, trial.column) for trial in trials}
    assert found == {
        ("postgresql", "bigint-identity", "bigint"),
        ("postgresql", "server-identity", "bigint"),
        ("postgresql", "server-uuid-v4", "uuid"),
        ("postgresql", "server-uuidv7", "uuid"),
        ("sqlite", "bigint-identity", "integer"),
        ("sqlite", "server-identity", "integer"),
    }
    for trial in trials:
        assert (trial.status, trial.error) == ("ok", "")
        readings = {reading.metric: reading for reading in trial.readings if reading.subject == KEY}
        assert readings[Metric.LEAF_PAGES].value > 5
        looked_up = readings[Metric.POINT_UNIFORM_US]
        if trial.layout.startswith("server-"):
            assert (looked_up.value, looked_up.origin) == (None, "absent")
            assert looked_up.reason == (
                "The server made the keys: there is no list of them in order of arrival to choose from."
            )
        else:
            assert looked_up.value > 0


@pytest.mark.skipif(bool(engine("mariadb").missing("local")), reason="no MariaDB is installed")
def test_mariadb_makes_them_too(here: Run, tmp_path: Path) -> None:
    layouts = "server-identity,server-uuid-v1,server-uuid-v1-binary,server-uuidv7"
    done = here("--db", "mariadb", "--server", "local", "--layout", layouts, *SMALL, "--writers", "2")
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        trials = store.trials(store.run("latest").id)
    found = {trial.layout: (trial.column, trial.status) for trial in trials}
    modern = found.pop("server-uuidv7")
    assert found == {
        "bigint-identity": ("bigint", "ok"),
        "server-identity": ("bigint", "ok"),
        "server-uuid-v1": ("uuid", "ok"),
        "server-uuid-v1-binary": ("binary16", "ok"),
    }
    assert done.returncode == (modern[1] == "error"), done.stdout + done.stderr
    if modern[1] == "error":
        assert "server-uuidv7 keys are made by MariaDB 11.7 and newer, and this server is 10." in done.stdout


@pytest.mark.parametrize(
    ("databases", "layout", "message"),
    [
        (
            "mssql",
            "server-newsequentialid",
            "server-newsequentialid keys are made by a server, and this run has only the page model of SQL Server: "
            "take newsequentialid, which the client makes in the same way, or choose another --server.",
        ),
        (
            "mariadb,postgresql",
            "server-uuid-v4",
            "server-uuid-v4 keys are made by a server, and this run has only the page model of MariaDB and PostgreSQL: "
            "take uuid-v4, which the client makes in the same way, or choose another --server.",
        ),
    ],
)
def test_a_page_model_is_refused_before_anything_runs(
    refused: Run, tmp_path: Path, databases: str, layout: str, message: str
) -> None:
    done = refused("--db", databases, "--server", "model", "--layout", f"uuid-v4,{layout}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"keybench: {message}\n")
    assert not (tmp_path / "keybench-results.sqlite").exists()


def test_each_replica_is_a_layout_of_the_clients() -> None:
    for on in engines().values():
        for made in on.server_keys:
            assert made.replica in layouts(), made.name


ALL_AND_MODEL = ("--db", "postgresql,mssql", "--server", "postgresql=embedded", "--server", "mssql=model")


@pytest.mark.parametrize(
    ("arguments", "then"),
    [
        (
            (*ALL_AND_MODEL, "--layout", "all"),
            "server-identity, server-uuid-v4, server-uuidv7, server-newid, server-newsequentialid. Add those you want: "
            "--layout all,server-identity,server-uuid-v4,server-uuidv7",
        ),
        (
            ("--db", "sqlite", "--server", "model", "--layout", "all"),
            "server-identity. Page models cannot take them.",
        ),
        (
            ("--db", "sqlite", "--server", "embedded", "--layout", "all", "--scenario", "refill"),
            "server-identity. They do not fit this scenario: it deletes the oldest rows by their keys, which only the "
            "server knows.",
        ),
    ],
)
def test_all_layouts_says_which_it_leaves_out(refused: Run, arguments: tuple[str, ...], then: str) -> None:
    done = refused(*arguments, "--rows", "100", "--dry-run")
    assert f"--layout all leaves out what servers make: {then}" in done.stdout.splitlines()


def test_all_layouts_and_one_that_servers_make(refused: Run) -> None:
    done = refused(*ALL_AND_MODEL, "--layout", "all,server-identity", "--rows", "100", "--blocks", "1", "--dry-run")
    lines = done.stdout.splitlines()
    assert [line for line in lines if "server-identity ·" in line] == [
        "  block 1: postgresql · server-identity · bigint, 100 rows"
    ], "SQL Server has only its page model"
    assert sum("uuid-v7 ·" in line for line in lines) >= 2
    assert "not measured, because a page model cannot make these keys: server-identity on SQL Server" in lines
    assert "server-identity" not in next(line for line in lines if line.startswith("--layout all"))


SMALL = ("--rows", "3000", "--blocks", "1")
INSTEAD = " Choose another --scenario, or a layout whose keys the client makes."
EDITED = """
title = "t"
rows = 1000
start = 2026-01-01T00:00:00Z
"""


@pytest.mark.parametrize(
    ("layout", "database", "scenario", "message"),
    [
        (
            "server-uuidv7",
            "sqlite",
            "quick",
            "server-uuidv7 keys are made by mariadb and postgresql only: choose one by --db.",
        ),
        (
            "server-identity",
            "sqlite",
            "refill",
            "server-identity keys do not fit scenario refill: it deletes the oldest rows by their keys, which only the "
            "server knows." + INSTEAD,
        ),
        (
            "server-identity",
            "sqlite",
            "rates.toml",
            "server-identity keys do not fit scenario rates: its keys must carry the scenario's virtual time, and a "
            "server's keys carry the server's clock." + INSTEAD,
        ),
        (
            "server-identity",
            "sqlite",
            "bare.toml",
            "server-identity keys do not fit scenario bare: its rows have nothing beside the key, and rows without a "
            "key would have nothing at all." + INSTEAD,
        ),
        (
            "server-identity",
            "sqlite",
            "shards.toml",
            "server-identity keys do not fit scenario shards: its rows go to several tables, each of which would make "
            "keys of its own." + INSTEAD,
        ),
        (
            "server-identity",
            "sqlite",
            "dated.toml",
            "server-identity keys do not fit scenario dated: its table has columns or rows beside the key's, and a "
            "server's keys are made row by row in one table." + INSTEAD,
        ),
    ],
)
def test_where_they_do_not_fit_the_reason_is_said(
    refused: Run, tmp_path: Path, layout: str, database: str, scenario: str, message: str
) -> None:
    rates = '[[writer]]\nid = "a"\nrate = 100.0\n[[writer]]\nid = "b"\nrate = 200.0\n'
    (tmp_path / "rates.toml").write_text(EDITED + rates)
    two = '[[writer]]\nid = "a"\n[[writer]]\nid = "b"\nshard = 1\n'
    (tmp_path / "shards.toml").write_text(EDITED + two + "[table]\nshards = 2\n")
    (tmp_path / "dated.toml").write_text(EDITED + '[table]\nkey = "by-date"\n')
    (tmp_path / "bare.toml").write_text(EDITED + "[table]\npayload = 0\n")
    done = refused("--db", database, "--layout", layout, "--scenario", scenario)
    assert (done.returncode, done.stderr) == (2, f"keybench: {message}\n")
    assert not (tmp_path / "keybench-results.sqlite").exists()


def test_an_unknown_name_lists_them_too(refused: Run) -> None:
    done = refused("--layout", "server-uuid7")
    assert done.returncode == 2
    assert done.stderr.startswith("keybench: unknown layout 'server-uuid7'. Did you mean server-uuidv7")
