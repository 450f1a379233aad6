"""What a trial shows about questions that an engine's documentation leaves open, and about its adapter."""

from __future__ import annotations

from keybench.databases.contract.questions import JudgedTrial
from keybench.databases.registry import engine
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import Request, TrialPlan


def judged(request: Request, planned: TrialPlan, trial: Trial) -> JudgedTrial:
    """What judges of questions see of a trial."""
    return JudgedTrial(planned.layout, planned.table(request.scenario), trial.rows, trial.writers, trial.readings)


def verdicts(request: Request, planned: TrialPlan, trial: Trial) -> list[str]:
    """A sentence for each verdict, to be stored as a warning of the run; empty if the trial failed.

    The questions are about indexes that were only inserted into, so trials with phases answer none.
    """
    if trial.status == "error" or request.scenario.kind == "phases":
        return []
    on, seen = engine(planned.database), judged(request, planned, trial)
    where = f"{planned.layout} in {planned.column}"
    sentences = []
    for question in on.questions:
        verdict = question.judge(seen) if question.of_any_run else None
        if verdict is not None and verdict.outcome != "not measured":
            evidence = f": {verdict.evidence}" if verdict.evidence else ""
            sentences.append(f"{on.title}, {question.statement}: {verdict.outcome} ({where}{evidence}).")
    return sentences
