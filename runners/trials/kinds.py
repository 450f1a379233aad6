"""Chooses the kind of a planned trial."""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.registry import engine
from keybench.model.names import MODEL_SERVER, NO_DATABASE
from keybench.runners.planning.server_keys import made_by
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.contended import ContendedTrial
from keybench.runners.trials.keys_trial import KeysTrial
from keybench.runners.trials.model_trial import ModelTrial
from keybench.runners.trials.phases.trial import PhasesModelTrial, PhasesTrial
from keybench.runners.trials.server_keys_trial import ServerKeysTrial
from keybench.runners.trials.server_trial import Resources, ServerTrial
from keybench.runners.trials.trial import Trial


def new_trial(request: Request, plan: TrialPlan, resources: Resources) -> Trial:
    """The trial; `resources` are used only by trials on a server."""
    if plan.writers:
        request = replace(request, scenario=request.scenario.with_equal_writers(plan.writers))
    if plan.database == NO_DATABASE:
        return KeysTrial(request, plan)
    if request.servers[plan.database] == MODEL_SERVER:
        return PhasesModelTrial(request, plan) if request.scenario.phase else ModelTrial(request, plan)
    if request.scenario.phase:
        return PhasesTrial(request, plan, resources)
    if request.scenario.load.contended:
        return ContendedTrial(request, plan, resources)
    kind = ServerKeysTrial if made_by(engine(plan.database), plan.layout) else ServerTrial
    return kind(request, plan, resources)
