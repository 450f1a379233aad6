"""How far it is from the command line to the timed send: functions of keybench in the runner, then in the writer."""

import re
import traceback
from pathlib import Path

import pytest

import keybench
from keybench.errors import ServerError
from keybench.runners.writers.processes import WriterPool, context
from keybench.runners.writers.writer import write
from tests.runners.conftest import Run

PACKAGE = Path(keybench.__file__).parent
LONGEST = 12


def functions() -> list[str]:
    """The functions of keybench on the stack, the outermost first."""
    return [frame.name for frame in traceback.extract_stack() if Path(frame.filename).is_relative_to(PACKAGE)]


def write_until_sent(task: object, handle: object) -> None:
    """As `write`, in the writer's process, up to the first send: the error says what is on the stack."""
    from keybench.databases.sqlite.session import SqliteSession

    def send(self: SqliteSession, batch: object) -> int:
        raise ServerError("sent by " + " ".join(functions()))

    SqliteSession.send = send  # type: ignore[method-assign,assignment]
    write(task, handle)  # type: ignore[arg-type]


def test_there_are_twelve_functions_from_the_command_line_to_the_timed_send(
    here: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_runner: list[list[str]] = []
    start = context.Process.start

    def recorded(process: object) -> None:
        in_runner.append(functions())
        start(process)

    monkeypatch.setattr(context.Process, "start", recorded)
    monkeypatch.setattr(WriterPool, "target", staticmethod(write_until_sent))
    done = here("--db", "sqlite", "--layout", "uuid-v4", "--rows", "3000", "--blocks", "1")
    in_writer = re.findall(r"FAILED: sent by (.*)", done.stdout)[-1].split()
    assert in_writer == ["_work", "write", "write_slices"]
    assert in_runner[-1] == [
        "run", "run", "execute", "run", "measure", "load_rows", "run", "run_all",
    ]  # fmt: skip
    assert len(in_runner[-1]) + len(in_writer) + len(["send"]) == LONGEST
