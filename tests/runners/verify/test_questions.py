"""What `keybench verify` loads, and what docs/verify-mssql-oracle.md says of its questions."""

from pathlib import Path

import pytest

from keybench.databases.contract.questions import QuestionLoad
from keybench.databases.registry import engines
from keybench.model.names import CONTROL
from keybench.results.claims.claim import claims
from keybench.runners.planning.trial_plan import Request, TrialPlan, plan, resolve_layouts
from keybench.runners.verify.verification import loads_of
from keybench.scenarios.files import load_scenario

PAGE = Path(__file__).parents[3] / "docs" / "verify-mssql-oracle.md"
ASKING = [on for on in engines().values() if on.questions]


def planned(database: str, load: QuestionLoad) -> tuple[TrialPlan, ...]:
    work = load_scenario(load.scenario)
    scenario = work.with_equal_writers(load.writers) if load.writers else work
    layouts, at = resolve_layouts(load.layouts, work), {database: "container"}
    return plan(Request((database,), at, scenario, layouts, load.columns, load.rows, 1, "durable", 1, 1.0))


def test_every_engine_of_ours_asks_questions() -> None:
    assert [on.name for on in ASKING] == list(engines())


@pytest.mark.parametrize("on", ASKING, ids=lambda on: on.name)
def test_questions_and_loads_are_told_apart_and_can_be_planned(on) -> None:  # type: ignore[no-untyped-def]
    statements = [question.statement for question in on.questions]
    assert len(set(statements)) == len(statements)
    assert not [text for text in statements if text.endswith(".") or text[0].isupper()]
    assert all(question.meaning.endswith(".") and question.loads for question in on.questions)
    loads = loads_of(on)
    assert len({load.name for load in loads}) == len(loads)
    for load in loads:
        assert on.refuses(load_scenario(load.scenario).load.path, "container") == ""
        assert planned(on.name, load)
    assert {load for question in on.questions if question.every_trial for load in question.loads} == set(loads)


@pytest.mark.parametrize("database", ["mssql", "oracle"])
def test_no_page_count_of_a_claim_stays_unmeasured_because_its_layouts_ran_in_another_column(database: str) -> None:
    ran: dict[str, set[tuple[str, str]]] = {}
    for load in loads_of(engines()[database]):
        trials = {(trial.layout, trial.column) for trial in planned(database, load)}
        ran[load.scenario] = ran.get(load.scenario, set()) | trials
    asked = 0
    for claim in claims():
        for question in claim.question:
            for scenario in {question.scenario, *question.also} & ran.keys():
                sides = [side for side in question.sides if side.layout != CONTROL]
                here = {name for name, _ in ran[scenario]}
                if database in question.databases and {side.layout for side in sides} <= here:
                    missing = [
                        str(side) for side in sides if side.column and (side.layout, side.column) not in ran[scenario]
                    ]
                    assert not missing, f"{claim.id} in {scenario}"
                    asked += len(sides)
    assert asked


@pytest.mark.parametrize("database", ["mssql", "oracle"])
def test_the_page_explains_every_question(database: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for question in engines()[database].questions:
        assert f"| {question.statement} | " in page
