"""Chooses the kind of a planned trial."""

from dataclasses import replace

from keybench.databases.registry import engine
from keybench.runners.planning.columns import server_keys_of
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.keys_trial import KeysTrial
from keybench.runners.trials.phases_trial import PhasesModelTrial, PhasesTrial
from keybench.runners.trials.prediction import ModelTrial
from keybench.runners.trials.server_trial import ContendedTrial, Resources, ServerKeysTrial, ServerTrial
from keybench.runners.trials.trial import TrialRunner


def new_trial(request: Request, plan: TrialPlan, resources: Resources) -> TrialRunner:
    """The trial; `resources` are used only by trials on a server."""
    if plan.writers:  # the trial has its own number of writers
        request = replace(request, scenario=request.scenario.with_equal_writers(plan.writers))
    kind = request.scenario.kind
    if kind == "keys":
        return KeysTrial(request, plan)
    if request.is_modelled(plan.database):
        return PhasesModelTrial(request, plan) if kind == "phases" else ModelTrial(request, plan)
    if server_keys_of(engine(plan.database), plan.layout):
        return ServerKeysTrial(request, plan, resources)
    on_server: dict[str, type[ServerTrial]] = {"phases": PhasesTrial, "contention": ContendedTrial}
    return on_server.get(kind, ServerTrial)(request, plan, resources)
