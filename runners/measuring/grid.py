"""What the page model says of a trial's layout at other numbers of processes and of rows in a tick of their clocks."""

from __future__ import annotations

from dataclasses import replace

from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.pagemodels.predict import predict
from keybench.runners.planning.plan import Request, TrialPlan
from keybench.runners.planning.sources import created_in_order, key_sources
from keybench.runners.trials.after import keys_in_order
from keybench.runners.trials.attempt import DRAWN_BLOCK
from keybench.scenarios.schema import Scenario


def readings(request: Request, trial: TrialPlan) -> list[Reading]:
    """The density of each cell of the scenario's grid, in planned order; none but in the block that pictures show.

    Of a layout or table that no model knows: one reading with the reason.
    """
    cells = request.scenario.grid
    if not cells or trial.block != DRAWN_BLOCK:
        return []
    found = []
    for processes in cells.processes:
        for together in cells.rows_per_tick:
            rows = max(processes, min(cells.rows, trial.rows))
            name = Subject.grid(processes, together)
            try:
                density = _density(replace(request, scenario=_cell(request.scenario, processes, together, rows)), trial)
            except UsageError as error:
                return [Reading(Metric.LEAF_DENSITY, None, "absent", f"No prediction: {error}", name)]
            found.append(Reading(Metric.LEAF_DENSITY, density, "modelled", subject=name))
    return found


def _cell(scenario: Scenario, processes: int, together: int, rows: int) -> Scenario:
    """The scenario with so many writers like its first one, whose rows come `together` in each tick."""
    first = scenario.writer[0]
    rate = together / first.clock.tick / processes
    alike = (first.model_copy(update={"id": f"process-{i + 1}", "rate": rate}) for i in range(processes))
    return scenario.model_copy(update={"writer": tuple(alike), "rows": rows, "grid": None})


def _density(request: Request, trial: TrialPlan) -> float:
    trial = replace(trial, rows=request.scenario.rows or 0)
    table = trial.table(request.scenario)
    sources = key_sources(request, trial)
    created = created_in_order(sources) if table.dated else None
    return predict(
        engine(trial.database).page_model(table), table.column, keys_in_order(sources), created=created
    ).density
