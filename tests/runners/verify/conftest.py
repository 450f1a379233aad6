"""`keybench verify` in this process, in an empty folder, on SQLite with questions of two small loads."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keybench.databases import registry
from keybench.databases.contract.questions import Question, QuestionLoad, Verdict
from keybench.databases.contract_suite.servers import folder_for_servers
from keybench.databases.core import questions as ask
from keybench.runners.verify import verification
from keybench.runners.verify.command import app
from tests.runners.conftest import environment, in_this_process

Verify = Callable[..., "subprocess.CompletedProcess[str]"]

FIRST = QuestionLoad("a few rows", "quick", ("uuid-v4",), 2_000)
SECOND = QuestionLoad("an index beside a few rows", "nonclustered", ("uuid-v7",), 2_000)
EQUAL = (ask.rows_are_there(FIRST, SECOND), ask.pages(FIRST), ask.density(SECOND))
DIFFERING = Question("two is three", "No.", (SECOND,), lambda _: Verdict("differs", "measured 2, model 3"))
OPEN = Question("it rains", "Who knows.", (SECOND,), lambda _: Verdict("not measured", "there is no window"))


@pytest.fixture
def variables() -> dict[str, str]:
    return environment(folder_for_servers())


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives SQLite other questions."""

    def give(*questions: Question, make: str = "") -> None:
        known = dict(registry.engines())
        known["sqlite"] = replace(known["sqlite"], questions=questions, make=make)
        for module in (registry, verification):
            monkeypatch.setattr(module, "engines", lambda: known)

    return give


@pytest.fixture
def verify(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Verify:
    """Runs the command to its end."""
    return in_this_process(app, variables, tmp_path, monkeypatch, capsys)
