"""The claims as data: complete, restated, and asking only for what keybench has."""

import re
from collections import Counter
from datetime import date, datetime, timedelta
from functools import cache
from math import log, sqrt
from pathlib import Path

import pytest

from benchmarks import theory
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layouts
from keybench.model.names import CONTROL, NO_DATABASE
from keybench.results.claims.claim import claims, parse
from keybench.runners.planning.columns import check_columns, columns_for
from keybench.runners.planning.trial_plan import Request, TrialPlan, plan, resolve_layouts
from keybench.scenarios.files import load_scenario
from tests.errors import raised

PUBLISHED = (Path(__file__).parent / "published.txt").read_text(encoding="utf-8").split()
"""Ids of all claims that were collected from publications before this was written."""

OF_THE_SOURCES = {
    "morris-remedy", "rt-comb-no-repeat", "rt-comb-85th-century", "rt-comb-2079", "todd-5800", "todd-48-bits-of-ticks",
    "todd-80-bits", "hot-2106", "hot-2158", "rt-comb-uuidv7",
}  # fmt: skip
"""Further figures of the four documents on key generators."""
OF_A_PAST = {"medplum-not-worse", "johnson-shasha-39", "waves-of-misery", "moden-58-days", "pgdoctor-mends"}
"""About indexes that are not filled from nothing."""

ASKED = [(claim, question) for claim in claims() for question in claim.question if question.compare != "computed"]


def test_every_collected_claim_is_there_exactly_once() -> None:
    assert len(PUBLISHED) == 126
    assert Counter(claim.id for claim in claims()) == Counter([*PUBLISHED, *OF_THE_SOURCES, *OF_A_PAST])


@cache
def planned(line: str) -> tuple[TrialPlan, ...]:
    """The trials of a command as the runner plans them; any error of the user's is raised."""
    words = line.split()
    assert words[:2] == ["keybench", "run"]
    given = dict(zip(words[2::2], words[3::2], strict=True))
    lists = {
        name: tuple(given.get(f"--{name}", "").split(",")) if f"--{name}" in given else ()
        for name in ("db", "column", "layout")
    }
    assert given.keys() <= {"--db", "--server", "--scenario", "--rows", "--writers", "--column", "--blocks", "--layout"}
    work = load_scenario(given["--scenario"])
    if "--writers" in given:
        work = work.with_equal_writers(int(given["--writers"]))
    check_columns(lists["db"], lists["column"] or work.columns)
    at, layouts = dict.fromkeys(lists["db"], given.get("--server", "local")), resolve_layouts(lists["layout"], work)
    rows = int(given["--rows"]) if "--rows" in given else None
    blocks = int(given["--blocks"])
    return plan(Request(lists["db"], at, work, layouts, lists["column"], rows, blocks, "durable", 1, 1.0))


def test_each_command_makes_the_trials_that_answer_its_question() -> None:
    for claim, question in ASKED:
        trials = planned(question.command)
        databases = {trial.database for trial in trials}
        assert databases == set(question.on or question.databases), claim.id
        assert set(question.on) <= set(question.databases), claim.id
        for database in databases:
            for side in question.sides:
                assert any(
                    (trial.database, trial.layout) == (database, side.layout)
                    and side.column in ("", trial.column)
                    and question.payload in (None, trial.payload)
                    and trial.rows >= question.rows_at_least
                    for trial in trials
                ), f"{claim.id}: {side} on {database}"


def test_layouts_and_columns_exist_on_every_database_that_is_asked() -> None:
    for claim, question in ASKED:
        assert question.of != question.to, claim.id
        for side in question.sides:
            assert side.layout in layouts(), claim.id
            for database in question.databases if side.column else ():
                if database != NO_DATABASE:
                    assert columns_for(engine(database), layouts()[side.layout], [side.column]) == [side.column]


def test_a_scenario_of_several_columns_is_never_asked_without_one() -> None:
    for claim, question in ASKED:
        for also in map(load_scenario, question.also):
            bare = any(side.layout != CONTROL and not side.column for side in question.sides)
            several = any(len(also.columns_on(name)) > 1 for name in question.databases)
            assert not (also.columns and bare and several), claim.id
            meant = load_scenario(question.scenario)
            same = (also.rows, also.table, also.load, also.writer) == (
                meant.rows,
                meant.table,
                meant.load,
                meant.writer,
            )
            assert question.exact or same, f"{claim.id}: time needs the work that is meant"
        if load_scenario(question.scenario).columns:
            assert all(side.column for side in question.sides if side.layout != CONTROL), claim.id


def test_no_absolute_time_is_asked_for_anywhere() -> None:
    """Times tell about machines, and those of SQL Server and Oracle must not be published."""
    for claim, question in ASKED:
        if question.compare in ("value", "difference"):
            assert question.metric.definition.exact or not re.fullmatch(
                r"s|ms|ns|µs.*", question.metric.definition.unit
            ), claim.id


def test_texts_are_whole_sentences_that_say_what_is_different() -> None:
    for claim in claims():
        assert claim.statement.endswith("."), claim.id
        assert claim.source.differs.endswith("."), claim.id
        assert not claim.reason or claim.reason.endswith("."), claim.id
        assert not claim.differs or claim.differs.endswith("."), claim.id
        assert " " in claim.reason or not claim.reason, f"{claim.id}: a reason without text"


COMPUTED = {
    "seed1-bits": [128 - 48 - 4 - 2],
    "rt-comb-85th-century": [int(1970 + 2**48 / 1000 / 86400 / 365.2425)],
    "rt-comb-2079": [2**16 - 1],
    # The widths of time in common, and the version's value, from the layouts' diagrams.
    "rt-comb-uuidv7": [
        min(layouts()[name].description.parts[0].width for name in ("rt-comb-postgresql", "uuid-v7")),
        layouts()["rt-comb-postgresql"].description.parts[1].value,
    ],
    "todd-5800": [int(1 + 2**48 / 1000 / 86400 / 365.2425)],
    "todd-48-bits-of-ticks": [round(2**48 / 1e7 / 86400, 1)],
    "todd-80-bits": [2**80],
    "hot-rate": [2**24],
    "hot-birthday": [round(sqrt(2 * 2**40 * log(1 / 0.99)))],
    "hot-2106": [2**32 - 1],
    "hot-2158": [round(2022 + 2**32 / 86400 / 365.2425, 1)],
    "2q-design": [round(2**16 * 60 / 86400, 1), 2**16 * 256],
    "atkinson-pg18-A": [0.5 / 0.08],
}


SIMULATED = {"johnson-shasha-39", "waves-of-misery", "moden-58-days"}
"""Computed with page models, which takes longer."""


def test_arithmetic_is_right() -> None:
    found = {
        claim.id: [question.ours for question in claim.question if question.compare == "computed"]
        for claim in claims()
        if any(question.compare == "computed" for question in claim.question) and claim.id not in SIMULATED
    }
    assert found == COMPUTED
    told = {claim.id: claim.question[0].result for claim in claims() if claim.id in COMPUTED}
    assert told["rt-comb-2079"] == f"{date(1900, 1, 1) + timedelta(2**16 - 1):%-d %B %Y}"
    assert told["hot-2106"] == f"{datetime(1970, 1, 1) + timedelta(seconds=2**32 - 1)} UTC"
    assert round(sqrt(2 * 2**48 * log(1 / 0.99))) in range(2378620, 2378622)  # what was published is that of 48 bits


@pytest.mark.long
def test_what_theory_says_is_what_the_page_models_compute() -> None:
    of_90, third = theory.waves(90), theory.waves(90).peaks()[2]
    moden = theory.maintained(71)
    found = {
        "johnson-shasha-39": [
            round(theory.equal_inserts_and_deletes(20, 6000, 80), 1),
            round(theory.more_inserts(100, 600_000, 0.05), 1),
        ],
        "waves-of-misery": [
            round(of_90.swing(1, 2), 1),
            round(theory.waves(70).peaks()[0][0], 2),
            round(theory.waves(70).swing(1, 2), 1),
            round(third[1] / of_90.peaks()[0][1], 2),
            round(theory.waves(0).swing(1, 2), 1),
        ],
        "moden-58-days": [round(moden.fragmentation, 2), round(moden.splits, 2), round(moden.splits / (1000 / 64), 3)],
    }
    assert found.keys() == SIMULATED
    claimed = {claim.id: [question.ours for question in claim.question] for claim in claims()}
    assert found == {name: claimed[name] for name in SIMULATED}
    waves = theory.waves(100).peaks() + of_90.peaks() + theory.waves(70).peaks()
    told = [f"{growth:.2f} times, {splits:.0f}" for growth, splits in waves]
    told += [f"{theory.equal_inserts_and_deletes(*of):.1f} %" for of in ((13, 5000, 60), (30, 8000, 100))]
    told += [f"{theory.more_inserts(room, 600_000, 0.05):.1f} %" for room in (13, 40)]
    for fill in (0, 90, 81, 71):
        one = theory.maintained(fill)
        told.append(f"| {one.splits:.1f} | {one.late_splits:.1f} | {one.rebuilds} | ")
    text = (Path(__file__).parents[3] / "docs" / "theory.md").read_text(encoding="utf-8")
    assert [figure for figure in told if figure not in text] == []


SOURCE = '[source.a]\nauthor = "A"\nwhere = "w"\ndiffers = "d."\n'
CLAIM = '[[claim]]\nid = "x"\nsource = "a"\nstatement = "s."\n'
RATIO = (
    '[[claim.question]]\npublished = "p"\ncompare = "ratio"\ndatabases = ["sqlite"]\nscenario = "quick"\n'
    'of = "uuid-v4"\nto = "uuid-v7"\n'
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CLAIM, "give either questions or the reason why there are none"),
        (CLAIM + 'reason = "r"\n' + RATIO + "value = 1\n", "give either questions or the reason why there are none"),
        (CLAIM + RATIO, "give exactly one of: value; low or high; direction; same"),
        (CLAIM + RATIO + "value = 1\nsame = true\n", "give exactly one of: value; low or high; direction; same"),
        (CLAIM + RATIO + 'value = 1\nmetrik = "leaf_pages"\n', "Extra inputs are not permitted"),
        (CLAIM + RATIO.replace('to = "uuid-v7"\n', "") + "value = 1\n", "ratio and difference have two sides"),
        (CLAIM + RATIO.replace('"ratio"', '"value"').replace('to = "uuid-v7"\n', "") + "value = 1\n",
         "times are compared only as ratios"),
        (CLAIM + RATIO.replace('"ratio"', '"difference"') + "value = 1\n", "only figures that repeat exactly are"),
        (CLAIM + RATIO.replace("ratio", "computed") + "value = 1\n", "computed needs ours, and no trials"),
        ('[[claim]]\nid = "x"\nsource = "b"\nstatement = "s."\nreason = "r."\n', "'b'"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_meant_are_refused(text: str, problem: str) -> None:
    said = raised(UsageError, parse, "mine.toml", SOURCE + text)
    assert said.startswith("mine.toml, claim x: ")
    assert problem in said
    assert said.endswith(" Correct the file.")


def test_reasons_stand_once_and_sources_with_each_claim() -> None:
    text = '[reason]\nr = "Because."\n' + SOURCE + CLAIM + 'reason = "r"\n'
    (claim,) = parse("mine.toml", text)
    assert (claim.reason, claim.source.author, claim.source.year) == ("Because.", "A", None)
