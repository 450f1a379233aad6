"""Signals interrupt a command from its first line on, and change nothing once it has ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from keybench import interruption

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def listens(process: subprocess.Popen[str]) -> bool:
    """Whether the process catches SIGHUP: bit n − 1 of the mask is for signal n."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return bool(int(status.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGHUP - 1) & 1)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_command_that_has_hardly_begun_is_interrupted(number: signal.Signals) -> None:
    line = [sys.executable, "-m", "keybench", "list", "layouts"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not listens(process):
        time.sleep(0.001)
    process.send_signal(number)
    assert (process.communicate(timeout=60), process.returncode) == (("", "keybench: interrupted\n"), 130)


Ended = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    """A process that runs the code as a module, whose arguments are those of `keybench list databases`."""

    def run(code: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "a.py").write_text(f"import atexit, os, signal\nfrom keybench import cli\n{code}", encoding="utf-8")
        line = [sys.executable, "-m", "a", "list", "databases", "--json"]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_after_the_end_does_not_change_the_exit_code(ended: Ended, number: signal.Signals) -> None:
    done = ended(f"atexit.register(os.kill, os.getpid(), {int(number)})\ncli.run()")
    assert (done.returncode, done.stderr, done.stdout[:1]) == (0, "", "[")


COMMAND = """
app = cli.application()
@app.command()
def command() -> None:
    {}
cli.run(app, [])
"""


def test_a_signal_that_python_makes_another_exception_of_interrupts(ended: Ended) -> None:
    """A RuntimeError, for what is raised while an attribute of a new class gets its name."""
    name = 'type("Name", (), {"__set_name__": lambda *_: signal.raise_signal(signal.SIGTERM)})()'
    done = ended(COMMAND.format(f'type("Any", (), {{"name": {name}}})'))
    assert (done.returncode, done.stderr) == (130, "keybench: interrupted\n")


def test_a_signal_in_code_that_is_run_from_a_text_interrupts(ended: Ended) -> None:
    """As in the making of a named tuple: Python's own way to end by the signal is for what nobody has handled."""
    done = ended(COMMAND.format('exec("signal.raise_signal(signal.SIGTERM)")'))
    assert (done.returncode, done.stderr) == (130, "keybench: interrupted\n")


def test_a_terminal_that_is_closed_cannot_be_written_to_and_changes_no_exit_code(tmp_path: Path) -> None:
    code = COMMAND.format("signal.raise_signal(signal.SIGHUP)")
    (tmp_path / "a.py").write_text(f"import signal\nfrom keybench import cli\n{code}", encoding="utf-8")
    here, there = os.openpty()
    os.close(here)
    line = [sys.executable, "-m", "a"]
    done = subprocess.run(line, cwd=tmp_path, stdin=there, stdout=there, stderr=there, check=False)
    os.close(there)
    assert done.returncode == 130


def test_a_signal_that_was_ignored_stays_so() -> None:
    """As `nohup` has it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption.listen()
    signal.raise_signal(signal.SIGHUP)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
