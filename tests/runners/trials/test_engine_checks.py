"""What a trial says of its own adapter reaches the run's warnings."""

from dataclasses import replace
from datetime import UTC, datetime

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.server_trial import question_verdicts
from keybench.scenarios.files import load_scenario

SCENARIO = load_scenario("quick")
REQUEST = Request(("mssql",), {"mssql": "mssql://h"}, SCENARIO, ("uuid-v4",), (), 100, 1, "durable", 1, 60.0)
PLAN = TrialPlan(1, 0, "mssql", "uuid-v4", "uniqueidentifier", 100, 100)
READINGS = (
    Reading(Metric.APPENDS, 3.0, "derived"),
    Reading(Metric.EDGE_AND_INTERIOR_SPLITS, 7.0, "measured"),
    Reading(Metric.SPLIT_COUNTER, 10.0, "measured"),
)
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ENDED = Trial(
    1, 0, "mssql", "url", "uniqueidentifier", "uuid-v4", "quick", 100, 100, 1, 10, BEGAN, 1.0, "ok", "", READINGS
)  # fmt: skip


def test_each_verdict_is_a_sentence_that_names_its_trial() -> None:
    assert question_verdicts(REQUEST, PLAN, ENDED) == [
        "SQL Server, page allocations are appends and splits that move rows: equal (uuid-v4 in uniqueidentifier)."
    ]


def test_failed_trials_and_confirmed_adapters_say_nothing() -> None:
    assert not question_verdicts(REQUEST, PLAN, replace(ENDED, status="error"))
    on = replace(PLAN, database="postgresql", column="uuid")
    assert not question_verdicts(replace(REQUEST, databases=("postgresql",)), on, ENDED)
