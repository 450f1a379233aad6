"""The commands of docs/verify-mssql-oracle.md measure the columns that the claims about their databases name."""

from pathlib import Path

import pytest

from keybench.model.names import CONTROL
from keybench.results.claims.claim import claims
from keybench.runners.planning.trial_plan import Request, TrialPlan, plan, resolve_layouts
from keybench.scenarios.files import load_scenario

PAGE = Path(__file__).parents[3] / "docs" / "verify-mssql-oracle.md"


def trials(database: str) -> dict[str, tuple[TrialPlan, ...]]:
    """The trials of the page's commands for that database, by scenario."""
    planned = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:2] != ["keybench", "run"]:
            continue
        given = dict(zip(words[2::2], words[3::2], strict=True))
        if given["--db"] != database:
            continue
        work = load_scenario(given["--scenario"])
        planned[work.name] = plan(
            Request(
                databases=(database,),
                servers={database: "container"},
                scenario=work,
                layouts=resolve_layouts([name for name in given.get("--layout", "").split(",") if name], work),
                columns=tuple(column for column in given.get("--column", "").split(",") if column),
                rows=None,
                blocks=1,
                profile="durable",
                seed=1,
                trial_timeout=1.0,
            )
        )
    return planned


@pytest.mark.parametrize("database", ["mssql", "oracle"])
def test_no_claim_stays_unmeasured_because_its_layouts_ran_in_another_column(database: str) -> None:
    planned = trials(database)
    assert {"quick", "two-million"} <= planned.keys()
    asked = 0
    for claim in claims():
        for question in claim.question:
            for scenario in {question.scenario, *question.also} & planned.keys():
                ran = {(trial.layout, trial.column) for trial in planned[scenario]}
                sides = [side for side in question.sides if side.layout != CONTROL]
                if database in question.databases and {side.layout for side in sides} <= {name for name, _ in ran}:
                    missing = [str(side) for side in sides if side.column and (side.layout, side.column) not in ran]
                    assert not missing, f"{claim.id} in {scenario}"
                    asked += len(sides)
    assert asked
