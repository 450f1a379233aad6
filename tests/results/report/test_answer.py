"""The first screen: the finding in words, three pictures, one table. Times are given, so every sentence is known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.results.analysis.group_comparison import judge
from keybench.results.analysis.groups import Group, group_trials
from keybench.results.bundle.reading import read_bundle
from keybench.results.plots.canvas import styles
from keybench.results.report.first_screen import layout_table, pictures
from keybench.results.report.sentences import GroupAnswer, finding, headline, leading, what_ran
from keybench.results.store.blobs import positions
from keybench.results.store.records import Trial
from tests.results.conftest import a_run, a_trial

LAG = Path(__file__).parents[3] / "docs" / "example" / "study" / "azure-lag.zip"
Costs = Mapping[str, Sequence[float]]
"""The seconds of each layout, one for each block."""
PAGES = {
    CONTROL: 1000.0, "uuid-v4": 1402.0, "uuid-v7": 1001.0, "ulid": 1100.0, "morris": 1000.0, "rt-comb-sql": 1402.0
}  # fmt: skip
STEADY = (1.00, 1.01, 0.99, 1.00, 1.01, 0.99)


def of(*seconds: float, noise: Sequence[float] = STEADY) -> list[float]:
    return [seconds[0] * wobble for wobble in noise]


def group(
    costs: Costs,
    database: str = "postgresql",
    server: str = "embedded",
    change: Callable[[Trial], Trial] = lambda trial: trial,
) -> Group:
    """A group of one database; a layout without seconds has only pages."""
    trials = []
    for place, (layout, seconds) in enumerate(costs.items()):
        for block, cost in enumerate(seconds or (0.0,), start=1):
            found = [Reading(Metric.LEAF_PAGES, PAGES[layout], "measured")]
            found += [Reading(Metric.INSERT_SECONDS, cost, "measured")] if cost else []
            trial = a_trial(
                found, block=block, position=place, database=database, server=server, layout=layout, rows=1000
            )
            trials.append(change(trial))
    (only,) = group_trials(a_run(blocks=6), trials, [])
    return only


def sentence(costs: Costs, **options: str) -> str:
    one = group(costs, **options)
    return headline(one, judge(one), "On PostgreSQL 18.4").replace("\u00a0", " ")


FLAT = of(1.0, noise=(1.0,) * 6)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ({CONTROL: FLAT, "uuid-v7": of(1.01), "uuid-v4": of(1.7)},
         "random UUIDs need 40 % more pages than UUIDv7 and 1.68 × the time; `uuid-v7` costs what `bigint-identity` "
         "costs."),
        ({CONTROL: FLAT, "morris": of(1.01), "rt-comb-sql": of(1.7)},
         "`morris` costs what `bigint-identity` costs; `rt-comb-sql` takes 1.70 × the time and 40 % more pages."),
        ({CONTROL: FLAT, "uuid-v7": of(1.01), "ulid": of(1.02), "uuid-v4": of(0.5)},
         "random UUIDs need 40 % more pages than UUIDv7 and 0.50 × the time; `uuid-v4` takes 0.50 × the time of "
         "`bigint-identity`; `uuid-v7` and `ulid` cost what `bigint-identity` costs."),
        ({CONTROL: FLAT, "uuid-v7": of(1.2), "uuid-v4": of(1.7), "ulid": of(1.3)},
         "random UUIDs need 40 % more pages than UUIDv7 and 1.42 × the time; `uuid-v7` and `ulid` take longer than "
         "`bigint-identity`."),
        ({CONTROL: FLAT, "uuid-v7": of(1.2), "morris": of(1.7), "ulid": of(1.3)},
         "`morris` takes longest: 1.70 × the time of `bigint-identity` (two more take longer too)."),
        ({CONTROL: FLAT, "uuid-v7": of(1.01), "uuid-v4": (0.7, 1.9, 1.2, 0.8, 1.6, 1.1)},
         "random UUIDs need 40 % more pages than UUIDv7; `uuid-v7` costs what `bigint-identity` costs; not decided: "
         "`uuid-v4`."),
        ({CONTROL: FLAT, "uuid-v4": (0.7, 1.9, 1.2, 0.8, 1.6, 1.1)},
         "whether any layout takes longer than `bigint-identity` is not decided; `uuid-v4` needs the most pages, "
         "40 % more than `bigint-identity`."),
        ({CONTROL: FLAT[:3], "uuid-v4": of(1.7)[:3]},
         "`uuid-v4` needs the most pages, 40 % more than `bigint-identity`; which layout is faster is not decided "
         "(it was measured three times; six times can decide)."),
        ({CONTROL: FLAT[:1], "uuid-v4": of(1.7)[:1], "rt-comb-sql": of(1.7)[:1]},
         "`rt-comb-sql` and `uuid-v4` need the most pages, 40 % more than `bigint-identity`; which layout is faster "
         "is not decided (it was measured once; six times can decide)."),
        ({CONTROL: FLAT[:1], "uuid-v7": of(1.7)[:1]},
         "no layout needs more pages than `bigint-identity`; which layout is faster is not decided (it was measured "
         "once; six times can decide)."),
    ],
)  # fmt: skip
def test_the_finding_is_one_plain_sentence(costs: Costs, said: str) -> None:
    assert sentence(costs) == f"On PostgreSQL 18.4, {said}"


def test_a_page_model_says_that_it_knows_no_times() -> None:
    assert sentence({CONTROL: (), "uuid-v4": ()}, server="model") == (
        "On PostgreSQL 18.4, `uuid-v4` needs the most pages, 40 % more than `bigint-identity`; a page model knows no "
        "times."
    )


def test_failed_trials_give_no_finding() -> None:
    broken = group({CONTROL: FLAT}, change=lambda trial: replace(trial, status="error", error="no", readings=()))
    assert headline(broken, None, "On it") == "On it, no trial gave a value."
    assert layout_table(broken, None) is None
    assert pictures([broken], {}) == []


def answer(costs: Costs, product: str, **options: str) -> GroupAnswer:
    one = group(costs, **options)
    judged = judge(one)
    return GroupAnswer(one, judged, product, headline(one, judged, f"On {product}"))


def test_several_databases_have_one_finding_of_what_they_share() -> None:
    both = [
        answer({CONTROL: FLAT, "uuid-v7": of(1.01), "uuid-v4": of(1.7)}, "PostgreSQL 18"),
        answer({CONTROL: FLAT, "uuid-v7": of(0.9), "uuid-v4": of(1.3)}, "SQLite 3", database="sqlite"),
    ]
    assert finding(both).replace("\u00a0", " ") == (
        "On PostgreSQL 18, random UUIDs need 40 % more pages than UUIDv7 and 1.68 × the time; on SQLite 3, they need "
        "40 % more pages than UUIDv7 and 1.44 × the time."
    )
    many = [replace(one, product=product) for one in both for product in (f"{one.product}a", f"{one.product}b")]
    assert finding(many).replace("\u00a0", " ") == (
        "On all four databases, random UUIDs need up to 40 % more pages than UUIDv7 and 1.44 to 1.68 × the time."
    )
    few = [
        answer({CONTROL: FLAT[:2], "uuid-v4": of(1.7)[:2]}, product, database=product)
        for product in ("postgresql", "sqlite")
    ]
    assert finding(few) == few[0].sentence
    assert leading([few[0], both[1]]) == 1, "the first with decided times leads"
    assert finding([]) == "No trial is recorded yet."


def test_what_was_run_comes_from_the_trials() -> None:
    once = group({CONTROL: FLAT[:1], "uuid-v4": of(1.7)[:1]})
    assert what_ran(once.run, [once], ["PostgreSQL 18.4"]) == (
        "keybench inserted 1,000 rows (100 characters beside the key) with each of 2 kinds of key into PostgreSQL "
        "18.4, once."
    )
    modelled = group({CONTROL: (), "uuid-v4": ()}, server="model")
    assert what_ran(modelled.run, [modelled], ["Oracle", "Oracle"]) == (
        "keybench computed what becomes of 1,000 rows (100 characters beside the key) with each of 2 kinds of key in "
        "page models of Oracle, once."
    )


def test_the_table_holds_verdicts_and_the_prediction_beside_what_was_measured() -> None:
    def change(trial: Trial) -> Trial:
        wrong = 7 if trial.layout == "uuid-v4" and trial.block == 4 else 0
        own = Reading(Metric.LEAF_PAGES, PAGES[trial.layout] + wrong, "modelled", "", MODEL)
        return replace(trial, readings=(*trial.readings, own))

    one = group({CONTROL: FLAT, "uuid-v7": of(1.01), "uuid-v4": of(1.7)}, change=change)
    shown = layout_table(one, judge(one))
    rows = {
        arm.layout: [(column.cells[i].text, column.cells[i].span.replace("\u00a0", " ")) for column in shown.columns]
        for i, arm in enumerate(shown.arms)
    }
    assert [(column.title, column.unit) for column in shown.columns] == [
        ("Insert time", "× control ↓"), ("Against the control", ""), ("Pages", "measured"), ("Pages", "predicted"),
    ]  # fmt: skip
    assert rows[CONTROL] == [("1.00×", ""), ("the control", ""), ("1,000", ""), ("1,000", "equal")]
    assert rows["uuid-v4"][1:] == [("slower", ""), ("1,402", ""), ("1,402", "+0.50 %")]
    assert rows["uuid-v7"][1] == ("costs the same", "")
    assert rows["uuid-v4"][0][0] == "1.70×"
    assert "0.99" in rows["uuid-v7"][0][1] or "1.00" in rows["uuid-v7"][0][1]


def test_splits_that_no_server_counts_are_the_models_and_hollow() -> None:
    def change(trial: Trial) -> Trial:
        own = [
            Reading(metric, value, "modelled", "", MODEL)
            for metric, value in ((Metric.EDGE_SPLITS, 2.0), (Metric.INTERIOR_SPLITS, 40.0))
        ]
        return replace(trial, readings=(*trial.readings, *own))

    one = group({CONTROL: FLAT, "uuid-v4": of(1.7)}, change=change)
    time, density, splits = pictures([one], styles([CONTROL, "uuid-v4"], CONTROL))
    assert time.svg
    assert (density.svg, density.caption) == ("", "Nothing was counted or predicted.")
    assert [row[2:5] for row in splits.rows] == [(CONTROL, "uuid", 40.0), ("uuid-v4", "uuid", 40.0)]
    shown = layout_table(one, judge(one))
    assert [cell.mark for cell in shown.columns[2].cells] == ["m", "m"]
    assert "Below zero" not in splits.caption + shown.legend


def test_splits_below_zero_are_explained() -> None:
    """SQLite merges neighbours: then its interior splits, which are derived from page counts, fall below zero."""
    own = tuple(Reading(metric, value, "derived") for metric, value in
                ((Metric.EDGE_SPLITS, 133.0), (Metric.INTERIOR_SPLITS, -155.0)))  # fmt: skip
    one = group({CONTROL: FLAT}, change=lambda trial: replace(trial, readings=(*trial.readings, *own)))
    _, _, splits = pictures([one], styles([CONTROL], CONTROL))
    shown = layout_table(one, judge(one))
    assert shown is not None
    said = "Below zero: neighbouring pages were merged, and more pages were given back than splits added."
    assert splits.caption.endswith(said)
    assert shown.legend.endswith(said)


def test_a_headline_about_writers_that_fall_behind_says_where_their_keys_go() -> None:
    """Of the study's run: three of four writers, on two of the databases."""
    bundle, layouts = read_bundle(LAG), (CONTROL, "uuid-v7", "efcore-sequential", "rt-comb-sql")
    stored = positions(["a", "b"], np.arange(9) % 2, np.arange(9.0), np.linspace(0, 1, 9), "")
    trials = [
        replace(trial, blobs=(stored,))  # a bundle leaves them out
        for trial in bundle.trials
        if trial.database in ("postgresql", "sqlite") and trial.layout in layouts
    ]
    groups = group_trials(bundle.run, trials, bundle.environments)
    said = [GroupAnswer(one, judge(one), one.database, headline(one, judge(one), one.database)) for one in groups]
    worst = (
        "postgresql, `efcore-sequential` keys of writers that fall behind go 53,999 rows, or 30 minutes, behind the "
        "newest and split 5.3 pages inside the index for each 1,000 rows"
    )
    assert finding(said) == f"{worst}."
    assert said[0].sentence == (
        f"{worst}; those of `rt-comb-sql` go to the end of the index; those of `uuid-v7` go anywhere."
    )
    shown = pictures(groups, styles((arm.layout for arm in groups[0].arms), CONTROL))
    assert [one.title for one in shown] == [
        "Insert positions of each writer", "How full the pages are", "How often a page inside the index is split"
    ]  # fmt: skip
