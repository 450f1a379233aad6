"""The page model's predictions for a trial's layout at other numbers of processes and of rows per clock tick."""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.pagemodels.predict import predict
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import trial_tables
from keybench.scenarios.schema import Scenario


def readings(request: Request, trial: TrialPlan) -> list[Reading]:
    """The density of each cell of the scenario's grid, with rows in planned order; empty for blocks that are not drawn.

    If there is no model of the layout or table, a single reading gives the reason.
    """
    grid = request.scenario.grid
    if not grid or not trial.drawn:
        return []
    cells = []
    for processes in grid.processes:
        for rows_per_tick in grid.rows_per_tick:
            rows = max(processes, min(grid.rows, trial.rows))
            name = Subject.grid(processes, rows_per_tick)
            work = _cell(request.scenario, processes, rows_per_tick, rows)
            try:
                density = _density(replace(request, scenario=work), trial)
            except UsageError as error:
                return [Reading(Metric.LEAF_DENSITY, None, "absent", f"No prediction: {error}", name)]
            cells.append(Reading(Metric.LEAF_DENSITY, density, "modelled", subject=name))
    return cells


def _cell(scenario: Scenario, processes: int, rows_per_tick: int, rows: int) -> Scenario:
    """The scenario with `processes` writers like its first one, which together send `rows_per_tick` in each tick."""
    first = scenario.writer[0]
    rate = rows_per_tick / first.clock.tick / processes
    writers = (first.model_copy(update={"id": f"process-{i + 1}", "rate": rate}) for i in range(processes))
    return scenario.model_copy(update={"writer": tuple(writers), "rows": rows, "grid": None})


def _density(request: Request, trial: TrialPlan) -> float:
    (one,) = trial_tables(request, replace(trial, rows=request.scenario.rows or 0))
    model = engine(trial.database).page_model(one.table)
    return predict(model, one.table.column, one.keys, created=one.created(), lengths=one.lengths()).density
