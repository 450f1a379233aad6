"""Comparing two runs, or two parts of one run: which arms are paired, and the verdicts."""

from collections.abc import Callable
from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from typer.main import get_command

from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.compare.command import app, as_text, document
from keybench.results.compare.differences import (
    RAW,
    Comparison,
    ComparisonRow,
    ComparisonSide,
    against_control,
    compare,
    part_of,
    side,
)
from keybench.results.store.records import Environment, Trial
from tests.errors import raised
from tests.results.conftest import a_run, failed, failing, trials

FEW = ("bigint-identity", "uuid-v4", "uuid-v7")
A, B = "5ca1ab1e00", "77de010000"
Change = Callable[[Trial], Trial | None]


def noisy(seed: int, cv: float = 0.004, **seconds: float) -> Change:
    """Insert times of a run of its own: ten seconds, or those of the layout (with _ for -), and noise."""
    rng = np.random.default_rng(seed)

    def change(trial: Trial) -> Trial:
        value = seconds.get(trial.layout.replace("-", "_"), 10.0) * float(np.exp(rng.normal(0, cv)))
        return with_value(trial, Metric.INSERT_SECONDS, value)

    return change


def with_value(trial: Trial, metric: Metric, value: float) -> Trial:
    others = tuple(reading for reading in trial.readings if reading.metric != metric)
    return replace(trial, readings=(*others, Reading(metric, value, "measured")))


def reading(metric: Metric, by: float, *, block: int, layout: str) -> Change:
    """Adds to one value of one trial."""

    def change(trial: Trial) -> Trial:
        if (trial.block, trial.layout) != (block, layout):
            return trial
        changed = (replace(r, value=(r.value or 0) + by) if r.metric == metric else r for r in trial.readings)
        return replace(trial, readings=tuple(changed))

    return change


def whole(change: Change = lambda trial: trial, run_id: str = A, **options) -> ComparisonSide:
    """A run in memory; `of` names a part of it."""
    options = {"layouts": FEW, "databases": ("postgresql",), "blocks": 6, "rows": 2_000_000} | options
    chosen = options.pop("of", {})
    made = trials(**options, payloads=(100,), after=False)
    environments = [
        Environment(database, "embedded", {"server": f"{database} 18.1"}, {"shared_buffers": "64MB"}, 2**26)
        for database in options["databases"]
    ]
    changed = [found for trial in made if (found := change(trial)) is not None]
    return part_of(a_run(run_id, options["blocks"]), changed, environments, chosen)


def both(change: Change, before: Change = lambda trial: trial, **options) -> tuple[ComparisonSide, ComparisonSide]:
    return whole(before, A, **options), whole(change, B, **options)


def row(comparison: Comparison, layout: str, metric: Metric) -> ComparisonRow:
    (found,) = [row for row in comparison.rows if (row.after.split(" ")[0], row.metric) == (layout, metric)]
    return found


def test_equal_runs_are_the_same() -> None:
    found = compare(*both(noisy(1), noisy(2)))
    assert {row.verdict for row in found.rows if row.exact} == {"same"}
    assert row(found, "uuid-v4", Metric.INSERT_SECONDS).verdict == "same"
    assert row(found, "uuid-v4", Metric.LOG_BYTES).verdict == "same"
    assert not {row.verdict for row in found.rows} & {"faster", "slower", "lower", "higher", "changed"}


def test_a_slower_layout_is_found_by_its_ratio_to_the_control() -> None:
    """The second run's machine is twice as slow, which must not count against any layout."""
    slower = {"bigint_identity": 20.0, "uuid_v7": 20.0, "uuid_v4": 24.0}
    found = compare(*both(noisy(1, **slower), noisy(2)))
    worse = row(found, "uuid-v4", Metric.INSERT_SECONDS)
    assert (worse.verdict, worse.change, worse.relative) == ("slower", "worse", True)
    assert worse.estimate.ratio == pytest.approx(1.2, rel=0.03)
    assert worse.estimate.low < 1.2 < worse.estimate.high
    assert worse.p <= 0.05
    assert row(found, "uuid-v7", Metric.INSERT_SECONDS).verdict == "same"
    control = row(found, "bigint-identity", Metric.INSERT_SECONDS)
    assert (control.verdict, control.relative, control.reason) == ("unclear", False, RAW)
    assert control.estimate.ratio == pytest.approx(2.0, rel=0.03)


@pytest.mark.parametrize("metric", [Metric.LEAF_PAGES, Metric.INTERIOR_SPLITS, Metric.LEAF_DENSITY])
@pytest.mark.parametrize("block", [1, 6])
def test_a_single_changed_count_is_always_found(metric: Metric, block: int) -> None:
    """A single count, among those of all layouts and six blocks, is higher by one."""
    found = compare(*both(reading(metric, 1, block=block, layout="uuid-v7")))
    changed = [row for row in found.rows if row.exact and row.verdict != "same"]
    assert [(row.after, row.metric, row.verdict) for row in changed] == [("uuid-v7 · uuid", metric, "higher")]
    assert changed[0].change == ("better" if metric == Metric.LEAF_DENSITY else "worse")
    assert "uuid-v7 · uuid" in as_text(found, (), every=False)


def test_counts_that_change_both_ways_have_changed() -> None:
    up, down = (reading(Metric.LEAF_PAGES, by, block=b, layout="uuid-v4") for by, b in ((1, 1), (-1, 2)))
    found = compare(*both(lambda trial: up(down(trial))))
    assert row(found, "uuid-v4", Metric.LEAF_PAGES).verdict == "changed"
    assert row(found, "uuid-v4", Metric.LEAF_PAGES).change == ""


def test_counts_of_other_seeds_or_of_several_writers_need_not_repeat() -> None:
    jitter = reading(Metric.LEAF_PAGES, 3, block=2, layout="uuid-v4")
    before, after = both(jitter)
    other_seed = replace(after, run=replace(after.run, seed=8))
    found = row(compare(before, other_seed), "uuid-v4", Metric.LEAF_PAGES)
    assert (found.exact, found.verdict) == (False, "same")
    before, after = both(lambda trial: replace(jitter(trial), writers=4), lambda t: replace(t, writers=4))
    assert not row(compare(before, after), "uuid-v4", Metric.LEAF_PAGES).exact


def test_counts_of_rows_that_the_server_sorted_need_not_repeat() -> None:
    before, after = both(reading(Metric.LEAF_PAGES, 3, block=2, layout="uuid-v4"))
    bulk = {"scenario": {"title": "t", "load": {"path": "bulk"}}}
    sides = [replace(one, run=replace(one.run, definition=bulk)) for one in (before, after)]
    assert not row(compare(*sides), "uuid-v4", Metric.LEAF_PAGES).exact


MACHINE = {"cpu": "Example 9000 @ 3.00GHz", "cores": 8, "memory_bytes": 2**34, "system": "Linux 6.1"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"machine": {**MACHINE, "cpu": "Other"}}, "processor: Example 9000 @ 3.00GHz, then Other"),
        ({"machine": {**MACHINE, "memory_bytes": 2**33}}, "memory: 16 GiB, then 8 GiB"),
        ({"keybench": "0.2.0"}, "keybench: 0.1.0, then 0.2.0"),
        ({"profile": "fast"}, "profile: durable, then fast"),
    ],
)
def test_times_of_other_conditions_are_not_compared_and_counts_are(changes, reason) -> None:
    before, after = both(reading(Metric.LEAF_PAGES, 1, block=1, layout="uuid-v4"))
    found = compare(before, replace(after, run=replace(after.run, **changes)))
    time = row(found, "uuid-v4", Metric.INSERT_SECONDS)
    assert (time.verdict, time.reason, time.estimate) == ("not comparable", reason, None)
    assert row(found, "uuid-v4", Metric.LEAF_PAGES).verdict == "higher"
    text = as_text(found, (), every=False)
    assert f"figures): {reason}." in text


def test_nothing_is_compared_across_versions_or_rows() -> None:
    before, after = both(lambda trial: trial)
    newer = tuple(replace(e, versions={"server": "postgresql 19.0"}) for e in after.environments)
    found = compare(before, replace(after, environments=newer))
    assert {row.verdict for row in found.rows} == {"not comparable"}
    assert row(found, "uuid-v4", Metric.LEAF_PAGES).reason == (
        "version server: postgresql 18.1, then postgresql 19.0"
    )  # fmt: skip
    tuned = tuple(replace(e, settings={"shared_buffers": "1GB"}) for e in after.environments)
    found = compare(before, replace(after, environments=tuned))
    assert row(found, "uuid-v4", Metric.INSERT_SECONDS).reason == "setting shared_buffers: 64MB, then 1GB"
    assert row(found, "uuid-v4", Metric.LEAF_PAGES).verdict == "same"
    found = compare(whole(rows=1000), whole(rows=2000, run_id=B))
    assert {(row.verdict, row.reason) for row in found.rows} == {("not comparable", "rows: 1,000, then 2,000")}


def test_parts_of_one_run_are_compared_within_its_blocks() -> None:
    """Every second block the machine is three times as slow."""
    noise = noisy(3, uuid_v4=20.0)

    def change(trial: Trial) -> Trial:
        (found,) = [r.value for r in noise(trial).readings if r.metric == Metric.INSERT_SECONDS]
        return with_value(trial, Metric.INSERT_SECONDS, found * (3.0 if trial.block % 2 else 1.0))

    run = whole(change, databases=("postgresql", "sqlite"))
    made = [trial for arm in run.arms for trial in arm.trials]
    found = compare(*(part_of(run.run, made, run.environments, {"layout": name}) for name in ("uuid-v4", "uuid-v7")))
    times = [row for row in found.rows if row.metric == Metric.INSERT_SECONDS]
    assert [(row.database, row.before, row.after, row.verdict, row.p) for row in times] == [
        ("postgresql", "uuid-v4 · uuid", "uuid-v7 · uuid", "faster", 2 / 64),
        ("sqlite", "uuid-v4 · binary16", "uuid-v7 · binary16", "faster", 2 / 64),
    ]
    assert all(row.estimate and row.estimate.high / row.estimate.low < 1.2 for row in times)


def test_parts_may_be_databases() -> None:
    chosen = [{"database": name, "layout": "uuid-v4"} for name in ("postgresql", "sqlite")]
    found = compare(*(whole(databases=("postgresql", "sqlite"), of=of) for of in chosen))
    assert row(found, "uuid-v4", Metric.INSERT_SECONDS).verdict == "faster"
    absent = row(found, "uuid-v4", Metric.LOG_BYTES)
    assert absent.verdict == "not measured"
    assert absent.reason == "uuid-v4 · binary16: SQLite keeps no log that outlives a transaction."


def test_one_run_alone_is_set_against_its_control() -> None:
    before, after = against_control(whole(noisy(1, uuid_v4=15.0)))
    found = compare(before, after, (Metric.INSERT_SECONDS,))
    assert [(row.before, row.after, row.verdict) for row in found.rows] == [
        ("bigint-identity · bigint", "uuid-v4 · uuid", "slower"),
        ("bigint-identity · bigint", "uuid-v7 · uuid", "same"),
    ]


def named(found: Comparison) -> list[tuple[str, str]]:
    return [(row.before.split(" ")[0], row.after.split(" ")[0]) for row in found.rows]


def test_one_layout_is_set_against_all_others() -> None:
    run, part_of = whole(), whole(of={"layout": "uuid-v4"})
    metric = (Metric.INSERT_SECONDS,)
    assert named(compare(part_of, run, metric)) == [("uuid-v4", "bigint-identity"), ("uuid-v4", "uuid-v7")]
    assert named(compare(run, part_of, metric)) == [("bigint-identity", "uuid-v4"), ("uuid-v7", "uuid-v4")]


def test_what_one_of_two_runs_is_restricted_to_the_other_is_too() -> None:
    for sides in (
        (whole(of={"layout": "uuid-v4"}), whole(run_id=B)),
        (whole(), whole(run_id=B, of={"layout": "uuid-v4"})),
        (whole(of={"layout": "uuid-v4"}), whole(run_id=B, of={"layout": "uuid-v4"})),
    ):
        found = compare(*sides, (Metric.LEAF_PAGES,))
        assert named(found) == [("uuid-v4", "uuid-v4")]
        assert not found.only_before
        assert not found.only_after
    crossed = compare(whole(of={"layout": "uuid-v4"}), whole(run_id=B, of={"layout": "uuid-v7"}), (Metric.LEAF_PAGES,))
    assert named(crossed) == [("uuid-v4", "uuid-v7")]


def test_layouts_in_several_columns_are_compared_column_by_column() -> None:
    run = whole()
    made = [
        replace(trial, column=column, position=trial.position + 10 * (column == "char36"))
        for trial in (trial for arm in run.arms for trial in arm.trials)
        for column in (("bigint",) if trial.layout == "bigint-identity" else ("uuid", "char36"))
    ]
    sides = [part_of(run.run, made, (), {"layout": name}) for name in ("bigint-identity", "uuid-v4", "uuid-v7")]
    found = compare(sides[1], sides[2], (Metric.LEAF_PAGES,))
    assert [(row.before, row.after) for row in found.rows] == [
        ("uuid-v4 · char36", "uuid-v7 · char36"),
        ("uuid-v4 · uuid", "uuid-v7 · uuid"),
    ]
    found = compare(sides[0], sides[1], (Metric.LEAF_PAGES,))
    assert [(row.before, row.after) for row in found.rows] == [
        ("bigint-identity · bigint", "uuid-v4 · char36"),
        ("bigint-identity · bigint", "uuid-v4 · uuid"),
    ]


def test_joint_p_keeps_blocks_together_where_trials_failed() -> None:
    run = whole(lambda one: failed(one) if (one.layout, one.block) == ("uuid-v4", 2) else one, databases=("sqlite",))
    before, after = against_control(run)
    found = compare(before, after, (Metric.INSERT_SECONDS,))
    assert {row.after.split(" ")[0]: row.p for row in found.rows}["uuid-v4"] == 2 / 32
    assert [row.estimate.blocks for row in found.rows if row.estimate] == [5, 6]
    text = as_text(found, (), every=False)
    assert f"Failed trials:\n  {A}, block 2, sqlite · uuid-v4: gone\n" in text


def test_a_layout_that_always_failed_is_a_row() -> None:
    found = compare(*both(failing("uuid-v4")))
    gone = row(found, "uuid-v4", Metric.INSERT_SECONDS)
    assert (gone.verdict, gone.reason, gone.new) == ("not measured", "uuid-v4 · uuid: every trial failed", None)
    assert "not measured: uuid-v4 · uuid: every trial failed" in as_text(found, (), every=False)


def test_values_without_a_ratio() -> None:
    def change(value: float) -> Change:
        return lambda trial: with_value(trial, Metric.ABORTS, value)

    found = compare(*both(change(0), change(5)), (Metric.ABORTS,))
    assert {(row.verdict, row.estimate, row.reason) for row in found.rows} == {
        ("unclear", None, "no ratio of values that are not above zero")
    }
    found = compare(*both(change(0), change(0), blocks=2), (Metric.ABORTS,))
    assert {row.verdict for row in found.rows} == {"same"}


def test_every_row_as_json() -> None:
    found = compare(*both(noisy(1, uuid_v4=12.0), noisy(2)))
    plain_values = document(found, ("mind this",))
    assert (plain_values["before"], plain_values["after"], plain_values["warnings"]) == (A, B, ["mind this"])
    for one, plain in zip(found.rows, plain_values["rows"], strict=True):
        assert (plain["metric"], plain["verdict"], plain["value_after"]) == (one.metric, one.verdict, one.new)
        assert plain["p"] is None if isnan(one.p) else plain["p"] == one.p
        assert plain["ratio"] == (one.estimate.ratio if one.estimate else None)
    assert [row["verdict"] for row in plain_values["rows"] if row["metric"] == "insert_seconds"].count("slower") == 1


def test_what_is_only_in_one_run_is_said() -> None:
    found = compare(whole(), whole(run_id=B, layouts=(*FEW[:2], "ulid")))
    text = as_text(found, (), every=False)
    assert f"Only in {A}: postgresql · uuid-v7 · uuid.\nOnly in {B}: postgresql · ulid · char26." in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("feed", "no run 'feed' in "),
        (f"{A}:uuid-v4", f"{A}:uuid-v4: write FIELD=VALUE after the colon, separated by commas if there are "),
        (f"{A}:colour=red", "unknown field 'colour'. Did you mean column or layout? Known: column, "),
        (f"{A}:layout=uuid-v44",
         f"unknown layout of run {A} 'uuid-v44'. Did you mean uuid-v4 or uuid-v7? Known: bigint-identity, "),
        (f"{A}:layout=uuid-v4,column=bigint",
         f"{A}:layout=uuid-v4,column=bigint: no trial of the run has all of these: name fewer of them."),
    ],
)  # fmt: skip
def test_sides_that_cannot_be_meant(fake_run, text: str, said: str) -> None:
    store = fake_run(layouts=FEW, databases=("postgresql",), blocks=1)
    assert raised(UsageError, side, store, text).startswith(said)


def test_values_may_hold_commas(fake_run) -> None:
    named = {"server": "AES, 4 threads", "database": "none"}
    store = fake_run(layouts=FEW, databases=("postgresql",), blocks=1, change=lambda one: replace(one, **named))
    found = side(store, "latest:server=AES, 4 threads,layout=uuid-v4")
    assert found.chosen == {"server": "AES, 4 threads", "layout": "uuid-v4"}
    assert [arm.layout for arm in found.arms] == ["uuid-v4"]


def run(tmp_path, *arguments: str) -> int:
    return app([*arguments, "--results", str(tmp_path / "results.sqlite")], standalone_mode=False)


def test_nothing_in_common_is_inconclusive(fake_run, tmp_path, capsys) -> None:
    fake_run(run_id=A, layouts=FEW[:1], databases=("sqlite",), blocks=1)
    fake_run(run_id=B, layouts=FEW[:1], databases=("postgresql",), blocks=1).close()
    assert run(tmp_path, A, B) == 3
    assert capsys.readouterr().err == (
        f"keybench: {A} and {B} have nothing in common: no layout in the same database and column was measured in "
        "both. --help shows how to name parts of runs.\n"
    )
    with pytest.raises(UsageError, match="is compared with itself: name another run, or another part of it"):
        run(tmp_path, A, A)
    with pytest.raises(UsageError, match=r"unknown metric 'leaf_page'\. Did you mean leaf_pages"):
        run(tmp_path, A, B, "--metric", "leaf_page")


def test_a_run_whose_control_failed_says_so(fake_run, tmp_path, capsys) -> None:
    fake_run(layouts=FEW[:2], databases=("sqlite",), blocks=1, change=failing("bigint-identity")).close()
    assert run(tmp_path, "latest") == 3
    shown = capsys.readouterr()
    assert "not measured: bigint-identity · bigint: every trial failed" in shown.out
    assert "block 1, sqlite · bigint-identity: gone" in shown.out
    assert shown.err == (
        f"keybench: nothing in {A}:layout=bigint-identity and {A} can be compared, for the reasons above: repair "
        "what failed or differs, and measure again.\n"
    )


def test_a_run_without_trials(fake_run, tmp_path) -> None:
    fake_run(change=lambda _: None).close()
    none = f"run {A} holds no trials yet: go on with `keybench run --resume {A}`."
    assert raised(UsageError, run, tmp_path, "latest") == none


def test_all_that_differs_in_conditions_is_inconclusive(fake_run, tmp_path, capsys) -> None:
    fake_run(run_id=A, layouts=FEW, databases=("sqlite",), blocks=1, rows=1000)
    fake_run(run_id=B, layouts=FEW, databases=("sqlite",), blocks=1, rows=2000).close()
    assert run(tmp_path, A, B, "--metric", "leaf_pages,insert_seconds") == 3
    shown = capsys.readouterr()
    assert "Not compared (6 figures): rows: 1,000, then 2,000." in shown.out
    assert shown.err == (
        f"keybench: nothing in {A} and {B} can be compared, for the reasons above: repair what failed or differs, "
        "and measure again.\n"
    )


def test_the_command(fake_run, tmp_path, capsys) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=2).close()
    assert not run(tmp_path, "latest")
    shown = capsys.readouterr()
    assert not shown.err
    assert shown.out.startswith(f"{A}:layout=bigint-identity → {A}\n\nsqlite · embedded · 100 characters\n\nlayout ")
    assert "Insert time " in shown.out


def test_a_claim_has_its_own_metric() -> None:
    with pytest.raises(UsageError, match=r"^each claim has its own metric: leave out --metric\.$"):
        get_command(app)(["--claims", "--metric", "leaf_pages"], standalone_mode=False)
