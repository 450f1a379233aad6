"""Running the gate as a user does, and runs made through the page models in this process."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keybench.results.check.command import app
from keybench.results.store.database import Store
from keybench.runners.planning.trial_plan import Request, plan
from keybench.runners.trials.prediction import ModelTrial, model_environment
from keybench.scenarios.files import load_scenario
from tests.results.conftest import a_run
from tests.runners.conftest import in_this_process

Check = Callable[..., subprocess.CompletedProcess[str]]
Model = Callable[..., None]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """`keybench check …` on `results.sqlite` and `base.json` in an empty folder, in this process: starts take long."""

    run = in_this_process(app, dict(os.environ), tmp_path, monkeypatch, capsys)
    return lambda *arguments: run(*arguments, "--baseline", "base.json", "--results", "results.sqlite")


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Puts a run of `azure-lag` through the page models into `results.sqlite`."""

    def run(run_id: str, *, databases: tuple[str, ...] = ("postgresql", "sqlite"), rows: int = 8000) -> None:
        request = Request(
            databases, dict.fromkeys(databases, "model"), load_scenario("azure-lag"),
            ("bigint-identity", "uuid-v4", "rt-comb-postgresql"), ("binary16-mssql",), rows, 1, "durable", 1, 60.0,
        )  # fmt: skip
        with Store.open(str(tmp_path / "results.sqlite"), write=True) as store:
            store.add_run(replace(a_run(run_id, 1), scenario="azure-lag", seed=1, definition=request.to_json()))
            for database in databases:
                store.add_environment(run_id, model_environment(database, "model", {}))
            for trial in plan(request):
                store.record(run_id, ModelTrial(request, trial).run())

    return run
