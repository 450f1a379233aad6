"""What a trial tells about its own adapter: stored as a run's warnings, which its report shows."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.databases.registry import engine
from keybench.model.names import MODEL_SERVER, NO_DATABASE
from keybench.results.store.store import Trial
from keybench.runners.planning.plan import Request, TrialPlan
from keybench.runners.trials import bulk


def told(request: Request, trial: TrialPlan, result: Trial) -> Sequence[str]:
    """One sentence a verdict; none of trials that failed, that had no server, or whose rows the server sorted: all
    questions are about rows in order of arrival."""
    if result.status == "error" or trial.database == NO_DATABASE or result.server == MODEL_SERVER:
        return ()
    if bulk.chosen(request.scenario):
        return ()
    on = engine(trial.database)
    found = on.verdicts(trial.table(request.scenario), trial.rows, result.writers, result.readings)
    where = f"{trial.layout} in {trial.column}"
    return [f"{on.title}, {verdict.question}: {verdict.outcome} ({where}: {verdict.evidence})." for verdict in found]
