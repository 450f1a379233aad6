"""What the command refuses about containers without a daemon. `tests/containers` has its runs, on a real one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--db", "sqlite", "--keep-server"),
            "--keep-server keeps containers, and this run has none: private servers of other kinds end with the run. "
            "Choose --server container, or start a server by hand and give its URL.",
        ),
        (
            ("--db", "sqlite", "--image", "postgres:17"),
            "--image postgres:17: write DB=NAME:TAG, where DB is one of this run's databases (sqlite), as in "
            "postgresql=postgres:17.",
        ),
    ],
)
def test_options_that_contradict_the_run_are_refused(refused: Run, arguments: tuple[str, ...], message: str) -> None:
    done = refused(*arguments)
    assert (done.returncode, done.stderr) == (2, f"keybench: {message}\n")


def test_without_docker_the_error_for_a_container_names_the_alternatives(command: Run) -> None:
    done = command("--db", "postgresql", "--server", "container")
    assert done.returncode == 4
    assert done.stderr == (
        "keybench: PostgreSQL in a container needs Docker, and no daemon answers at "
        "unix:///nonexistent/docker.sock (No such file or directory): start Docker, or choose --server "
        "postgresql=local, which needs none, or give the URL of a server of yours, --server "
        "postgresql://user@host/database.\n"
    )
