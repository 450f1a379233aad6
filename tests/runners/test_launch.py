"""How a run begins, and what its command line does around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.results.store.database import Store
from keybench.runners.launch import command_line, licences_accepted, names, server_names
from keybench.runners.trials.prediction import ModelTrial
from keybench.runners.writers import dask_cluster
from tests.databases.installed import free_port
from tests.runners.conftest import Run

URL = "postgresql://me:s3cret@db.example/bench"


@pytest.mark.parametrize("arguments", [["run", "--db", "sqlite"], ["--db", "sqlite"]])
def test_the_command_line_is_the_one_that_people_type(arguments: list[str]) -> None:
    assert command_line(arguments) == "keybench run --db sqlite"


def test_the_command_line_holds_no_password() -> None:
    assert "s3cret" not in command_line(["run", "--server", URL])


def test_a_list_of_servers_may_hold_urls_with_commas() -> None:
    assert server_names(["local,sqlite=embedded", "mysql://a@h/x?set=1,2"]) == (
        "local",
        "sqlite=embedded",
        "mysql://a@h/x?set=1,2",
    )
    assert names(" a, b,,a ") == ("a", "b")


@pytest.mark.parametrize("before", [None, "oracle"])
def test_accepted_licences_are_forgotten_after_the_command(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEYBENCH_ACCEPT_EULA", raising=False)
    if before:
        monkeypatch.setenv("KEYBENCH_ACCEPT_EULA", before)
    with licences_accepted("mssql, sqlite"):
        assert os.environ["KEYBENCH_ACCEPT_EULA"] == "mssql,sqlite"
    assert os.environ.get("KEYBENCH_ACCEPT_EULA") == before
    with pytest.raises(UsageError, match="unknown database 'sql'"), licences_accepted("sql"):
        pass
    assert os.environ.get("KEYBENCH_ACCEPT_EULA") == before


@pytest.mark.parametrize("options", [(), ("--debug",)])
def test_a_traceback_is_stored_and_printed_if_asked_for(
    refused: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    def defect(self: ModelTrial) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(ModelTrial, "measure", defect)
    done = refused("--db", "sqlite", "--server", "model", "--rows", "10", "--blocks", "1", *options)
    assert done.returncode == 1
    assert "ZeroDivisionError: a defect" in done.stdout
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        trials = store.trials(store.run("latest").id)
    assert all(trial.traceback.endswith("\nZeroDivisionError: a defect\n") for trial in trials)
    assert done.stderr.count("Traceback (most recent call last)") == (len(trials) if options else 0)


def test_a_run_that_ends_before_its_first_trial_is_not_kept(refused: Run, tmp_path: Path) -> None:
    done = refused("--db", "postgresql", "--server", f"postgresql://me@127.0.0.1:{free_port()}/x", "--rows", "10")
    assert done.returncode == 4
    assert done.stdout.endswith("stopped before the first trial ended: the results have nothing of this run\n")
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        assert store.runs() == []


def test_an_executor_that_does_not_answer_leaves_no_run(
    refused: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dask_cluster.CONNECT_SECONDS == 5
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1)
    port = free_port()
    server = ("--db", "postgresql", "--server", f"postgresql://me@127.0.0.1:{port}/x")
    done = refused(*server, "--executor", f"tcp://127.0.0.1:{port}")
    assert done.returncode == 4
    assert f"no Dask scheduler answers at tcp://127.0.0.1:{port} within 1 s" in done.stderr
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        assert store.runs() == []
