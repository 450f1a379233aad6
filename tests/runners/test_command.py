"""Bad input to the command: one message with the next step, the exit code, and no lost results."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
NO_DOCKER = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--db", "postgres"), "keybench: unknown database 'postgres'. Did you mean postgresql?"),
        (("--layout", "uuid-v8x"), "keybench: unknown layout 'uuid-v8x'. Did you mean uuid-v"),
        (("--scenario", "quik"), "keybench: unknown scenario 'quik'. Did you mean quick?"),
        (("--column", "guid"), "keybench: unknown column 'guid'."),
        (("--profile", "durabel"), "keybench: unknown profile 'durabel'. Did you mean durable?"),
        (("--server", "locl"), "keybench: postgresql has no server kind 'locl' (it has: "),
        (("--server", "mysql=local"), "keybench: --server mysql=local: mysql is not among the databases of this run"),
        (("--server", "oracle://db/x"), "keybench: --server oracle://…: none of the databases of this run"),
        (("--writers", "4", "--rows", "3"), "keybench: 3 rows are too few for 4 writers: give each at least one row."),
        (("--resume", "latest"), "keybench: "),
    ],
)
def test_a_wrong_name_is_one_line_and_exit_2(refused: Run, arguments: tuple[str, ...], message: str) -> None:
    done = refused(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("rows", ["0", "-3", "many"])
def test_rows_must_be_a_positive_number(refused: Run, rows: str) -> None:
    done = refused("--rows", rows)
    assert done.returncode == 2
    assert "--rows" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--db", "\t"), "--db '\\t' names no database: name one, such as sqlite, or leave the option out."),
        (("--rows", "9" * 30), "Invalid value for '--rows'"),
        (("--memory", "nan"), "Invalid value for '--memory'"),
        (("--cpus", "inf"), "Invalid value for '--cpus'"),
        (("--trial-timeout", "nan"), "Invalid value for '--trial-timeout'"),
        (("--blocks", "10001"), "Invalid value for '--blocks'"),
        (
            ("--db", "sqlite", "--server", "model", "--layout", "all", "--blocks", "10000"),
            " trials in each of 10,000 blocks are more than 100,000: give fewer --blocks, layouts or databases.",
        ),
        (("--layout", "a\udcffb"), "unknown layout 'a\\udcffb'."),
        (("--layout", "x" * 100_000), "unknown layout 'xxx"),
        (("--results", "y" * 300), f"'{'y' * 99}… cannot be opened (File name too long): give --results another file."),
        (("--scenario", "\0.toml"), "scenario file \0.toml cannot be read (embedded null byte): check the path."),
        (
            ("--results", "a\0b", "--db", "sqlite", "--server", "model", "--rows", "9"),
            "'a\\x00b' cannot be opened (embedded null byte): give --results another file.",
        ),
    ],
)
def test_values_that_no_run_can_have(refused: Run, arguments: tuple[str, ...], message: str) -> None:
    done = refused(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("keybench: ")
    assert len(done.stderr) < 5000


def test_a_scenario_file_with_a_wrong_field(refused: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('title = "t"\nrowz = 3\nstart = 2026-01-01T00:00:00Z\n')
    done = refused("--scenario", "mine.toml")
    assert done.returncode == 2
    assert "scenario mine.toml:" in done.stderr
    assert "  rowz: no such field, did you mean rows?" in done.stderr


def test_sql_server_without_a_docker_daemon_says_so_at_once(command: Run) -> None:
    begin = time.monotonic()
    done = command("--db", "mssql", **NO_DOCKER)
    assert done.returncode == 4
    assert "Docker" in done.stderr
    assert "postgresql" in done.stderr
    assert time.monotonic() - begin < 4  # 2 s for the answer; the rest is this busy machine starting Python


def test_a_url_that_does_not_answer(here: Run) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        done = here("--db", "postgresql", "--server", f"postgresql://me:s3cret@127.0.0.1:{port}/bench")
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"127.0.0.1:{port}" in done.stderr or (f"{port}" in done.stderr and "127.0.0.1" in done.stderr)
    assert "s3cret" not in done.stdout + done.stderr


def test_a_dry_run_draws_when_writers_are_busy_and_uses_the_scenarios_columns(here: Run) -> None:
    options = ("--db", "sqlite", "--server", "embedded", "--layout", "uuid-v7", "--rows", "18000", "--dry-run")
    done = here("--scenario", "azure-lag", *options)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    rows = [line for line in lines if line.startswith("web-")]
    assert [line.split()[:2] for line in rows] == [[f"web-{i}", "1/s"] for i in (1, 2, 3, 4)]
    assert rows[0].endswith(" " + "#" * 83)
    assert {line.partition(": ")[2] for line in lines if "uuid-v7" in line} == {
        "sqlite · uuid-v7 · binary16, 18,000 rows",
        "sqlite · uuid-v7 · binary16-mssql, 18,000 rows",
    }
    done = here("--scenario", "azure-lag", *options, "--column", "binary16-mssql")
    assert "uuid-v7 · binary16," not in done.stdout


def test_impossible_writers_are_reported_in_one_message(refused: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'title = "t"\nrows = 10\nstart = 2026-01-01T00:00:00Z\n[[writer]]\nid = "a"\nstart = 5\nstop = 3\n'
        '[[writer]]\nid = "b"\nrate = 0\n'
    )
    done = refused("--db", "sqlite", "--scenario", "mine.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "keybench: scenario mine.toml:\n"
        "  writer.0: writer a stops at 3 s and starts at 5 s: stop it later\n"
        "  writer.1.rate: Input should be greater than 0 (it says 0)\n"
        "Fields: docs/scenarios.md.\n"
    )


def test_resume_takes_no_other_options(refused: Run) -> None:
    done = refused("--resume", "latest", "--rows", "5", "--layout", "all")
    assert done.returncode == 2
    assert done.stderr == "keybench: --resume goes on with the run as it was planned: leave out --layout, --rows.\n"


@pytest.mark.parametrize("empty", [False, True])
def test_resume_creates_no_results(refused: Run, tmp_path: Path, *, empty: bool) -> None:
    file = tmp_path / "new.sqlite"
    if empty:
        file.touch()
    done = refused("--resume", "zzz", "--results", "new.sqlite")
    told = "new.sqlite holds no results yet: measure with `keybench run`."
    missing = "no results database new.sqlite: measure with `keybench run`, or give --results another file."
    assert (done.returncode, done.stderr) == (2, f"keybench: {told if empty else missing}\n")
    assert file.exists() == empty
    assert not empty or not file.stat().st_size


def test_a_results_file_that_is_no_database(here: Run, tmp_path: Path) -> None:
    (tmp_path / "keybench-results.sqlite").write_text("these are my notes, not a database\n" * 50)
    before = (tmp_path / "keybench-results.sqlite").read_bytes()
    done = here("--db", "sqlite", "--rows", "10")
    assert done.returncode == 2, done.stderr
    assert (tmp_path / "keybench-results.sqlite").read_bytes() == before


def test_an_unknown_option_in_the_configuration(refused: Run, tmp_path: Path) -> None:
    (tmp_path / "keybench.toml").write_text("[run]\nrow = 5\n")
    done = refused("--db", "sqlite")
    assert done.returncode == 2
    assert "unknown option of [run] in keybench.toml 'row'. Did you mean rows" in done.stderr


def test_help_names_the_exit_codes_and_needs_no_driver(command: Run) -> None:
    done = command("--help")
    assert done.returncode == 0
    for word in ("--db", "--resume", "Exit codes", "130 interrupted"):
        assert word in done.stdout
