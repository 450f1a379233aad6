"""Whatever happens in a trial is recorded, unexpected exceptions with their traceback."""

import numpy as np
import pytest

from keybench.databases.contract.engine import Engine
from keybench.errors import ServerError, UsageError
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.runners.measuring.measured import Measurements
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.prediction import predicted_beside
from keybench.runners.trials.trial import TrialRunner
from keybench.runners.writers.processes import run_all
from keybench.scenarios.files import load_scenario
from tests.runners.trials.test_model_trial import _table, rows

REQUEST = Request(("sqlite",), {"sqlite": "local"}, load_scenario("quick"), ("uuid-v4",), (), 10, 1, "fast", 1, 60.0)
PLAN = TrialPlan(1, 0, "sqlite", "uuid-v4", "binary16", 100, 10)


class Failing(TrialRunner):
    def __init__(self, error: Exception) -> None:
        super().__init__(REQUEST, PLAN)
        self._error = error

    def measure(self) -> Measurements:
        raise self._error


def surprise() -> None:
    raise ZeroDivisionError("in a worker")


def test_an_explained_error_has_no_traceback_and_an_unexpected_one_has() -> None:
    explained = Failing(UsageError("choose another.")).run()
    assert (explained.status, explained.error, explained.traceback) == ("error", "choose another.", "")
    unexpected = Failing(RuntimeError("boom")).run()
    assert (unexpected.status, unexpected.error) == ("error", "RuntimeError: boom")
    assert unexpected.traceback.startswith("Traceback (most recent call last):\n")
    assert ", in measure\n" in unexpected.traceback
    assert unexpected.traceback.endswith("\nRuntimeError: boom\n")


def test_a_trial_that_runs_out_of_memory_says_what_to_do() -> None:
    record = Failing(MemoryError()).run()
    assert record.error == "memory ran out: use fewer --rows than 10, or a machine with more memory."
    assert record.traceback == ""


def test_the_traceback_of_a_worker_reaches_the_record() -> None:
    with pytest.raises(ServerError, match=r"^ZeroDivisionError: in a worker$") as raised:
        run_all(surprise, [()], timeout=60)
    record = Failing(raised.value).run()
    assert record.error == "ZeroDivisionError: in a worker"
    assert ", in surprise\n" in record.traceback


class Broken:
    """An engine whose page model has a defect."""

    def page_model(self, table: Table) -> None:
        raise IndexError("off by one")


def test_a_defect_of_a_page_model_keeps_the_measured_values_and_its_traceback() -> None:
    measured = [Reading(Metric.LEAF_PAGES, 3.0, "measured")]
    on: Engine = Broken()  # type: ignore[assignment]
    found = predicted_beside(on, rows(_table("postgresql"), Keys(np.arange(2), "int")), measured)
    assert found.readings[0] == measured[0]
    assert found.readings[1].reason == "No prediction: IndexError: off by one"
    assert ", in page_model\n" in found.traceback
