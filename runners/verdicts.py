"""What a trial tells about its own adapter: stored as a run's warnings, which its report shows."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.databases.engine import engine
from keybench.results.store import Trial
from keybench.runners.plan import MODEL_SERVER, NO_DATABASE, Request, TrialPlan


def told(request: Request, trial: TrialPlan, result: Trial) -> Sequence[str]:
    """One sentence a verdict; none of trials that failed, or that had no server."""
    if result.status == "error" or trial.database == NO_DATABASE or result.server == MODEL_SERVER:
        return ()
    on = engine(trial.database)
    found = on.verdicts(trial.table(request.scenario), trial.rows, result.writers, result.readings)
    where = f"{trial.layout} in {trial.column}"
    return [f"{on.title}, {verdict.question}: {verdict.outcome} ({where}: {verdict.found})." for verdict in found]
