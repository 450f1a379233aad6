"""What a trial shows about questions that an engine's documentation leaves open, and about its adapter."""

from __future__ import annotations

from keybench.databases.registry import engine
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import Request, TrialPlan


def answers(request: Request, trial: TrialPlan, record: Trial) -> list[str]:
    """A sentence for each answer, to be stored as a warning of the run; empty if the trial failed.

    The questions are about indexes that were only inserted into, so trials with phases answer none.
    """
    if record.status == "error" or request.scenario.phase:
        return []
    on = engine(trial.database)
    verdicts = on.verdicts(trial.table(request.scenario), trial.rows, record.writers, record.readings)
    where = f"{trial.layout} in {trial.column}"
    return [f"{on.title}, {verdict.question}: {verdict.outcome} ({where}: {verdict.evidence})." for verdict in verdicts]
