"""`keybench verify` in this process, in an empty folder, on SQLite with questions of two small loads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keybench import cli
from keybench.databases import registry
from keybench.databases.contract.questions import Answer, Load, Question
from keybench.databases.core import model_questions as ask
from keybench.testing.contract.servers import folder_for_servers
from keybench.verification import loads
from keybench.verification.command import app
from tests.runners.conftest import environment

Verify = Callable[..., "subprocess.CompletedProcess[str]"]

FIRST = Load("a few rows", "quick", ("uuid-v4",), 2_000)
SECOND = Load("an index beside a few rows", "nonclustered", ("uuid-v7",), 2_000)
EQUAL = (ask.rows_are_there(FIRST, SECOND), ask.pages(FIRST), ask.density(SECOND))
DIFFERING = Question("two is three", "No.", (SECOND,), lambda _: Answer("differs", "measured 2, model 3"))
OPEN = Question("it rains", "Who knows.", (SECOND,), lambda _: Answer("not measured", "there is no window"))


@pytest.fixture
def variables() -> dict[str, str]:
    """The environment of the command."""
    return environment(folder_for_servers())


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives SQLite other questions."""

    def give(*questions: Question) -> None:
        known = dict(registry.engines())
        known["sqlite"] = replace(known["sqlite"], questions=questions)
        for module in (registry, loads):
            monkeypatch.setattr(module, "engines", lambda: known)

    return give


@pytest.fixture
def verify(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Verify:
    """Runs the command to its end."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        for name in os.environ.keys() - variables.keys():
            monkeypatch.delenv(name)
        for name, value in {**variables, **changes}.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.run(app, arguments)
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(end.value.code or 0), out, err)

    return run
