"""The command `keybench`: its list of commands, and what it imports before one of them is used."""

import importlib
import inspect
import os
import re
import subprocess
import sys

import pytest
import typer

from keybench.cli import COMMANDS
from tests.parameters import first


def keybench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "keybench", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_gives_the_first_paragraph_of_a_commands_own_help(name: str) -> None:
    command = typer.main.get_command(importlib.import_module(COMMANDS[name].module).app)
    first = inspect.cleandoc(command.help).split("\n\n")[0]
    assert " ".join(first.split()) == COMMANDS[name].help


def test_the_list_has_every_command_under_its_heading() -> None:
    done = keybench("--help")
    assert done.returncode == 0
    assert all(f" {name} " in done.stdout for name in COMMANDS)
    assert re.findall(r"^╭─ (\w+) ", done.stdout, re.M) == ["Options", "Ask", "Measure", "Read", "Keep"]
    assert len(COMMANDS) <= 12


def test_an_unknown_command_is_one_line_and_exit_2() -> None:
    done = keybench("reprot")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "keybench: No such command 'reprot'. Did you mean 'report', 'export'?. See --help.\n"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["list", "layouts"], ["list", "make", "uuid-v4", "-n", "300000"], ["doctor"]],
    ids=" ".join,
)
@pytest.mark.parametrize("both", [False, True], ids=["stdout", "stdout and stderr"])
def test_a_closed_output_ends_a_command_quietly(arguments: list[str], both: bool) -> None:
    """The list of commands, one write (all share `cli.run`), many writes, and lines one by one."""
    reading, writing = os.pipe()
    os.close(reading)
    errors = writing if both else subprocess.PIPE
    done = subprocess.run([sys.executable, "-m", "keybench", *arguments], stdout=writing, stderr=errors, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr or b"") == (0, b"")


def test_another_broken_pipe_does_not_end_a_command_quietly() -> None:
    code = """
from keybench import cli
app = cli.application()
@app.command()
def command() -> None:
    raise BrokenPipeError("a process has ended")
cli.run(app, [])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1


def test_the_list_of_commands_imports_none_of_them() -> None:
    code = """
import sys
from keybench.cli import run
sys.argv = ["keybench", "--help"]
try:
    run()
except SystemExit as end:
    assert not end.code
heavy = {"numpy", "sqlalchemy", "pydantic", "matplotlib", "pandas", "scipy", "numba"}
print("imported:", *sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported:"


@pytest.mark.parametrize("closed", first(1, ["<&- >&- 2>&-", ">&-"]))
def test_a_command_does_its_work_with_closed_streams(closed, tmp_path) -> None:
    run = "run --db sqlite --server model --rows 60 --layout uuid-v4 --blocks 1"
    for command in ("--help", run, "export latest -o values.csv", "report nothing"):
        line = f"{sys.executable} -m keybench {command} {closed}"
        ended = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == (2 if command == "report nothing" else 0)
        assert "Traceback" not in ended.stderr
    assert "leaf_pages" in (tmp_path / "values.csv").read_text(encoding="utf-8")
