"""Which trials answer a claim, with which interval, and the reason if none does."""

from dataclasses import replace

import numpy as np
import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.claims.answers import ClaimRow, rows
from keybench.results.claims.claim import ClaimSide, claims
from keybench.results.claims.estimate import arm_of, groups_to_ask
from keybench.results.store.database import Store
from tests.results.claims.conftest import Runs
from tests.results.conftest import a_run

NOISE = np.random.default_rng(7).normal(0, 0.02, 64)
BIGINT, STRING, RANDOM = ("bigint-identity", "bigint"), ("jhtodd-string", "uuid"), ("uuid-v4", "uuid")
TIME, PAGES, DENSITY = Metric.INSERT_SECONDS, Metric.LEAF_PAGES, Metric.LEAF_DENSITY


def timed(seconds, place=0):
    """Insert time with noise that differs from block to block."""
    return lambda block: {TIME: seconds * float(np.exp(NOISE[8 * place + block]))}


def counted(**values):
    return lambda block: {Metric(name): value for name, value in values.items()}


def found(runs, *names: str) -> list[ClaimRow]:
    with Store.open(str(runs.path), write=False) as store:
        return rows(store, names or ["latest"])


def of(table: list[ClaimRow], claim: str, question: str = "") -> list[ClaimRow]:
    return [row for row in table if row.claim == claim and question in row.published]


def only(table: list[ClaimRow], claim: str, question: str = "") -> ClaimRow:
    (row,) = of(table, claim, question)
    return row


@pytest.mark.parametrize(
    ("times", "verdict"),
    [(1.078, "reproduced"), (1.5, "not reproduced"), (1.0, "not reproduced"), (0.7, "contradicted")],
)
def test_a_planted_effect_has_its_verdict(runs, times, verdict) -> None:
    run = runs.arms({BIGINT: timed(10), STRING: timed(10 * times, 1)})
    row = only(found(runs), "jt-pg-string-vs-int")
    assert (row.verdict, row.database, row.server, row.rows, row.run, row.blocks, row.origin) == (
        verdict, "postgresql", "embedded", 2_000_000, run, 6, "measured",
    )  # fmt: skip
    assert row.low < times < row.high
    assert row.low <= row.estimate <= row.high
    assert row.estimate == pytest.approx(times, rel=0.03)
    assert (row.unit, row.no_effect) == ("×", 1.0)
    assert (row.published_low, row.published_high) == (pytest.approx(1.078 / 1.05), pytest.approx(1.078 * 1.05))
    assert row.ours.endswith("×, 6 blocks)")
    assert row.question == "insert time, jhtodd-string@uuid over bigint-identity, in two-million"


def test_the_ratio_is_taken_within_the_block(runs) -> None:
    """A machine that slows down block by block changes no verdict."""

    def slowing(seconds, place):
        return lambda block: {TIME: seconds * 2**block * (1 + 0.001 * ((block * 5 + place * 3) % 7))}

    runs.arms({BIGINT: slowing(10, 0), STRING: slowing(10.78, 1)})
    row = only(found(runs), "jt-pg-string-vs-int")
    assert row.verdict == "reproduced"
    assert row.high - row.low < 0.02


def test_few_blocks_have_a_range_and_no_verdict(runs) -> None:
    runs.arms({BIGINT: timed(10), STRING: timed(10.78, 1)}, blocks=3)
    row = only(found(runs), "jt-pg-string-vs-int")
    assert (row.verdict, row.reason) == ("undecided", "Too few blocks for an interval: use --blocks 6.")
    assert "range" in row.ours
    assert "3 blocks" in row.ours


def test_counts_that_repeat_need_one_block(runs) -> None:
    runs.arms(
        {BIGINT: counted(leaf_density=90.07), RANDOM: counted(leaf_density=70.4, leaf_fragmentation=49.9)}, blocks=1
    )
    table = found(runs)
    density = only(table, "calkio-v4", "69.4")
    assert (density.verdict, density.ours, density.unit) == ("reproduced", "70.4 % (1 block)", "%")
    assert only(table, "atkinson-density", "97.64").verdict == "not reproduced"
    assert only(table, "calkio-v4", "390").verdict == "not measured"


def test_failed_trials_and_absent_values_say_why(runs) -> None:
    arms = {BIGINT: timed(10), STRING: timed(10.78, 1)}
    runs.arms(arms)
    with Store.open(str(runs.path), write=False) as store:
        trials = store.trials(store.run("latest").id)
    failed = [
        replace(one, status="error", error="the server went away", readings=())
        if one.layout == "jhtodd-string"
        else one
        for one in trials
    ]
    again = runs.add(*failed)
    row = only(found(runs, again), "jt-pg-string-vs-int")
    assert (row.verdict, row.estimate) == ("not measured", None)
    assert (
        row.reason == f"two-million on postgresql (run {again}): No insert time of jhtodd-string: the server went away."
    )
    absent = [
        replace(one, readings=tuple(Reading.absent([TIME], "No clock."))) if one.layout == "jhtodd-string" else one
        for one in trials
    ]
    silent = runs.add(*absent)
    assert only(found(runs, silent), "jt-pg-string-vs-int").reason.endswith(
        "No insert time of jhtodd-string: No clock."
    )
    assert only(found(runs, silent), "jt-pg-vs-rand").reason.endswith("uuid-v4@uuid is not among the trials.")


def test_what_nothing_answers_has_the_command_that_does(runs) -> None:
    runs.arms({BIGINT: timed(10), STRING: timed(10, 1)})
    row = only(found(runs), "hot-cache")
    assert (row.verdict, row.reason, row.database, row.ours) == (
        "not measured", "No trial of these runs answers it.", "", "",
    )  # fmt: skip
    assert row.command == (
        "keybench run --db postgresql,mariadb,sqlite --scenario beyond-cache --blocks 6 --layout hotguid,uuid-v4"
    )


def test_a_claim_that_cannot_be_tested_says_why(runs) -> None:
    runs.add()
    row = only(found(runs), "comdb2")
    assert (row.verdict, row.command, row.published) == ("not testable", "", "")
    assert "no adapter for this database" in row.reason


def test_too_few_rows_do_not_answer(runs) -> None:
    runs.arms({BIGINT: timed(10), STRING: timed(10.78, 1)}, rows=50_000)
    row = only(found(runs), "jt-pg-string-vs-int")
    assert row.verdict == "not measured"
    assert row.reason.endswith("50,000 rows are too few: the claim needs 2,000,000.")


@pytest.mark.parametrize(("index", "verdict"), [(2**28, "reproduced"), (2**24, "not measured"), (None, "not measured")])
def test_the_index_must_outgrow_the_cache_where_that_is_claimed(runs, index, verdict) -> None:
    def halves(seconds, place):
        sizes = {} if index is None else {Metric.INDEX_BYTES: float(index)}
        return lambda block: sizes | {Metric.SECOND_HALF_SECONDS: timed(seconds, place)(block)[TIME]}

    arms = {BIGINT: halves(10, 0), RANDOM: halves(50, 1), ("hotguid", "uuid"): halves(12, 2)}
    runs.arms(arms, scenario="beyond-cache", rows=9_000_000, cache=2**26)
    row = only(found(runs), "hot-cache")
    assert row.verdict == verdict
    if index == 2**24:
        assert row.reason.endswith("The index is 0.25 times the server's cache: the claim needs 1 times.")
    if index is None:
        assert row.reason.endswith("The size of the index or of the server's cache is unknown.")


def test_measured_goes_before_modelled_and_more_rows_before_fewer(runs) -> None:
    def pages(density):
        return {BIGINT: counted(leaf_density=90.0), RANDOM: counted(leaf_density=density)}

    model = runs.arms(pages(71.0), server="model", origin="modelled", blocks=1)
    small = runs.arms(pages(69.0), rows=200_000, blocks=1)
    large = runs.arms(pages(70.0), rows=1_000_000, blocks=1)
    again = runs.arms(pages(70.1), rows=1_000_000, blocks=1)

    def told(*names):
        row = only(found(runs, *names), "calkio-v4", "69.4")
        return row.run, row.origin, row.modelled

    assert told(model) == (model, "modelled", True)
    assert told(model, small) == (small, "measured", False)
    assert told(large, small) == (large, "measured", False)
    assert told(again, large) == (again, "measured", False)  # the later one, whatever the order in which they are given


def test_another_scenario_answers_where_that_is_as_good(runs) -> None:
    quick = runs.arms(
        {BIGINT: counted(leaf_density=90.0), RANDOM: counted(leaf_density=69.0)}, scenario="quick", rows=9
    )
    row = only(found(runs), "calkio-v4", "69.4")
    assert (row.run, row.question) == (quick, "leaf density, uuid-v4@uuid, in quick")
    model = runs.arms({RANDOM: counted(leaf_density=71.0)}, server="model", origin="modelled")
    assert only(found(runs, quick, model), "calkio-v4", "69.4").run == quick
    own = runs.arms({RANDOM: counted(leaf_density=70.0)}, rows=5)
    row = only(found(runs, own, quick), "calkio-v4", "69.4")
    assert (row.run, row.question) == (own, "leaf density, uuid-v4@uuid, in two-million")


def test_a_model_answers_nothing_that_it_takes_for_granted(runs) -> None:
    arms = {BIGINT: counted(leaf_pages=1.0), ("ulid", "uuid"): counted(leaf_pages=9.0, leaf_fragmentation=28.0)}
    arms[RANDOM] = counted(leaf_pages=7.0)
    runs.arms(arms, scenario="same-tick", server="model", origin="modelled", blocks=1)
    assert {row.verdict for row in of(found(runs), "moguls-pg-ulid-8c")} == {"not measured"}
    runs.arms(arms, scenario="same-tick", blocks=1)
    assert {row.verdict for row in of(found(runs), "moguls-pg-ulid-8c")} == {"reproduced"}


def test_growth_is_of_halves_or_of_the_last_part_over_the_first(runs) -> None:
    column = "binary16"
    trials = [
        runs.trial(
            block, 0, "uuid-v4", column, {Metric.INDEX_BYTES: 2.0**30}, database="mariadb", server="local",
            scenario="beyond-cache", rows=1000, series=(runs.growing(1000, 1.0, 49.0),),
        )
        for block in range(1, 7)
    ]  # fmt: skip
    runs.add(*trials)
    table = found(runs)
    row = only(table, "jasonp-my", "48 times")
    # The paces of the first and last twentieth are 2.1 and 47.9 on average.
    assert row.estimate == pytest.approx(47.9 / 2.1, rel=0.03)
    assert (row.verdict, row.question) == (
        "not reproduced", "insert time of the last 1/20 of the rows over the first, uuid-v4@binary16, in beyond-cache",
    )  # fmt: skip
    assert only(table, "percona2019", "later").verdict == "reproduced"

    def halves(block):
        return {Metric.FIRST_HALF_SECONDS: 10.0, Metric.SECOND_HALF_SECONDS: timed(16.0)(block)[TIME]}

    runs.arms({("uuid-v4", "char36"): halves}, database="mariadb", server="local")
    row = only(found(runs), "jt-mysql-2nd")
    assert (row.verdict, row.published_low, row.published_high) == ("reproduced", 1.5, None)
    assert row.question == "insert time of the last half over the first, uuid-v4@char36, in two-million"


def test_figures_a_row(runs) -> None:
    def values(block):
        return {Metric.CLOCK_LEAD_MS: 3_999_900.0, Metric.ORDER_BREAKS: 0.0}

    runs.keys({("rt-comb-legacy-no-repeat", "AES, 1 thread"): values}, blocks=1)
    row = only(found(runs), "seed1-slip")
    assert (row.verdict, row.unit, row.database) == ("reproduced", "ms a row", "none")
    assert row.estimate == pytest.approx(3.9999)
    assert only(found(runs), "rt-comb-no-repeat").verdict == "reproduced"


def test_a_layout_without_a_column_is_not_that_of_another_server(runs) -> None:
    def pages(count):
        return counted(leaf_pages=count)

    arms = {
        ("uuid-v7", "binary16-mssql"): pages(200.0),
        ("uuid-v7", "uuid"): pages(100.0),
        ("uuid-v7-counter", "binary16-mssql"): pages(100.0),
    }
    runs.arms(arms, scenario="dense-clock", rows=200_000, blocks=1)
    (row,) = (row for row in of(found(runs), "jt-ms-vs-counter", "hence") if row.database)
    assert (row.estimate, row.verdict) == (1.0, "reproduced")


def test_times_of_no_server_are_printed_as_such(runs) -> None:
    """Those of SQL Server and Oracle must not be published."""
    table = {
        (name, "uniqueidentifier"): timed(10 + place, place) for place, name in enumerate(("uuid-v4", "jhtodd-end"))
    }
    runs.arms({("bigint-identity", "bigint"): timed(9, 2)} | table, database="mssql", server="url")
    answered = [row for row in found(runs) if row.database == "mssql"]
    assert len(answered) >= 3
    assert {row.unit for row in answered} == {"×"}


def test_every_claim_has_its_rows_in_any_run(runs) -> None:
    runs.add()
    table = found(runs)
    assert list(dict.fromkeys(row.claim for row in table)) == [claim.id for claim in claims()]
    assert len(table) == sum(max(1, len(claim.question)) for claim in claims())
    for row in table:
        assert row.reason or row.verdict == "reproduced", row.claim
        assert bool(row.command) == (row.verdict == "not measured"), row.claim


def test_rows_that_a_server_sorted_answer_nothing_and_another_profile_is_told(runs) -> None:
    runs.arms({BIGINT: timed(10), STRING: timed(10.78, 1)})
    with Store.open(str(runs.path), write=False) as store:
        trials = store.trials(store.run("latest").id)
    row = only(found(runs, runs.add(*trials, path="bulk")), "jt-pg-string-vs-int")
    assert row.verdict == "not measured"
    assert row.reason.endswith("Rows were loaded in bulk, which sorts them.")
    row = only(found(runs, runs.add(*trials, profile="fast")), "jt-pg-string-vs-int")
    assert row.verdict == "reproduced"
    assert row.differs.endswith(" Measured with --profile fast.")


def test_a_side_without_a_column_means_the_default_column() -> None:
    """Not another column in which the same run measured the layout, whatever their names are."""
    pairing = {"default": "uniqueidentifier", "suited": "binary16", "ordered": True, "suiting": ["binary16"]}
    run = replace(a_run(), definition={"pairings": {"mssql": {"uuid-v7": pairing}}})
    trial = Runs.trial(1, 0, "uuid-v7", "binary16", {}, database="mssql")
    for of_run, column in ((run, "uniqueidentifier"), (a_run(), "binary16")):
        (group,) = groups_to_ask(of_run, [trial, replace(trial, column="uniqueidentifier")], [])
        arm = arm_of(group, ClaimSide.parse("uuid-v7"))
        assert arm.column == column
        named = arm_of(group, ClaimSide.parse("uuid-v7@binary16"))
        assert named.column == "binary16"
        assert arm_of(group, ClaimSide.parse("uuid-v7@char36")) is None
