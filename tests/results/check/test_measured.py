"""Which values of a run are exact counts, which are ratios, and which conditions belong to each."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL, PARENT, Subject
from keybench.results.analysis.groups import groups_of
from keybench.results.check.baseline import LIMITS, Baseline, measure
from keybench.results.check.gate import failures
from keybench.results.store.records import Environment, Run, Trial
from tests.results.conftest import a_run, a_trial

RUN = a_run()
ON = Environment("sqlite", "embedded", {"SQLite": "3.54.1", "apsw": "3.54.1.0"}, {"page_size": "4096"}, 2**28)


def trial(layout: str, pages: float, block: int = 1, column: str = "binary16", **other: object) -> Trial:
    readings = (
        Reading(Metric.LEAF_PAGES, pages, "measured"),
        Reading(Metric.LAG_ROWS_P50, 12.0, "measured"),
        Reading(Metric.SPLIT_COUNTER, 3.0, "measured"),
        Reading(Metric.INSERT_SECONDS, pages / 100, "measured"),
        Reading(Metric.LEAF_PAGES, pages + 1, "modelled", subject=MODEL),
        Reading(Metric.LEAF_PAGES, pages + 2, "measured", subject=PARENT),
        Reading(Metric.LEAF_PAGES, pages, "measured", subject=Subject.writer("web-1")),
        *Reading.absent([Metric.LOG_BYTES], "no log"),
    )
    plain = a_trial(
        readings, block=block, database="sqlite", column=column, layout=layout, scenario="quick", rows=50_000
    )
    return replace(plain, **other)  # type: ignore[arg-type]


def measured(run: Run, trials: Sequence[Trial], servers: Sequence[Environment]) -> Baseline:
    return measure(groups_of(run, trials, servers), LIMITS)


PAIR = (trial("bigint-identity", 100, column="bigint"), trial("uuid-v4", 150))


def test_one_writer_on_a_server_has_exact_counts_of_its_index_and_ratios_of_time() -> None:
    found = measured(RUN, PAIR, [ON])
    (counts,), (times,) = found.counts, found.times
    assert counts.work == {
        "database": "sqlite", "server": "embedded", "scenario": "quick", "rows": 50_000, "payload": 100,
        "key": "clustered", "writers": 1, "rows_per_tx": 1000, "load_path": "rows",
    }  # fmt: skip
    assert counts.conditions == {
        "version": "3.54.1",
        "profile": "durable",
        "settings": {"page_size": "4096"},
        "seed": 7,
    }
    assert [(arm.layout, arm.subject, arm.counts) for arm in counts.arms] == [
        ("bigint-identity", KEY, {Metric.LEAF_PAGES: 100}),
        ("bigint-identity", PARENT, {Metric.LEAF_PAGES: 102}),
        ("uuid-v4", KEY, {Metric.LEAF_PAGES: 150}),
        ("uuid-v4", PARENT, {Metric.LEAF_PAGES: 152}),
    ]
    assert [(arm.layout, arm.metric, arm.ratio, arm.low, arm.blocks) for arm in times.arms] == [
        ("uuid-v4", Metric.INSERT_SECONDS, pytest.approx(1.5), None, [pytest.approx(1.5)])
    ]
    assert times.conditions == {
        "version": "3.54.1", "profile": "durable", "settings": {"page_size": "4096"}, "cpu": "Example 9000 @ 3.00GHz",
        "cores": 8, "memory_gib": 16, "system": "Linux", "cache_bytes": 2**28,
    }  # fmt: skip


def test_several_writers_arrive_in_another_order_each_time_so_their_pages_are_ratios() -> None:
    found = measured(RUN, [replace(one, writers=4) for one in PAIR], [ON])
    assert not found.counts
    assert {(arm.metric, round(arm.ratio, 6)) for arm in found.times[0].arms} == {
        (Metric.INSERT_SECONDS, 1.5),
        (Metric.LEAF_PAGES, 1.5),
    }


def test_a_page_model_repeats_whatever_the_writers_and_has_no_times_and_no_version() -> None:
    found = measured(RUN, [replace(one, server="model", writers=4) for one in PAIR], [])
    assert not found.times
    assert found.counts[0].conditions == {"seed": 7}
    assert [arm.subject for arm in found.counts[0].arms] == [KEY, MODEL, PARENT] * 2


def test_settings_that_were_chosen_for_a_page_model_are_among_its_conditions() -> None:
    model = [replace(one, server="model") for one in PAIR]
    chosen = Environment("sqlite", "model", {"keybench": "0.1.0"}, {"page_size": "8K"}, 0)
    (plain,) = measured(RUN, model, [replace(chosen, settings={})]).counts
    (other,) = measured(RUN, model, [chosen]).counts
    assert plain.conditions == {"seed": 7}
    assert other.conditions == {"seed": 7, "settings": {"page_size": "8K"}}


def test_what_the_server_sorted_has_no_exact_counts() -> None:
    bulk = replace(RUN, definition={"scenario": {"load": {"path": "bulk"}, "table": {"key": "nonclustered"}}})
    found = measured(bulk, PAIR, [ON])
    assert not found.counts
    assert (found.times[0].work["load_path"], found.times[0].work["key"]) == ("bulk", "nonclustered")


def test_keys_alone_repeat_with_any_number_of_threads() -> None:
    made = [
        replace(
            one,
            database="none",
            server="1 thread",
            writers=8,
            readings=(Reading(Metric.DUPLICATE_KEYS, 0, "measured"),),
        )
        for one in PAIR
    ]
    assert [arm.counts for arm in measured(RUN, made, []).counts[0].arms] == [{Metric.DUPLICATE_KEYS: 0}] * 2


def test_blocks_keep_their_numbers() -> None:
    trials = [trial("bigint-identity", 100, block, "bigint") for block in (1, 2, 3)]
    trials += [trial("uuid-v4", 150, 1), trial("uuid-v4", 160, 3)]
    failed = replace(trial("uuid-v4", 0, 2), status="error", error="gone", readings=())
    found = measured(RUN, [*trials, failed], [ON])
    assert found.counts[0].arms[2].counts == {Metric.LEAF_PAGES: [150, None, 160]}
    assert found.times[0].arms[0].blocks == [pytest.approx(1.5), None, pytest.approx(1.6)]
    (finding,) = failures(groups_of(RUN, [*trials, failed], [ON]))
    assert (finding.layout, finding.note) == ("uuid-v4", "block 2: gone")


def test_without_the_control_there_is_no_ratio_and_in_a_layouts_own_column_it_is_taken_there() -> None:
    assert not measured(RUN, PAIR[1:], [ON]).times
    twice = [*PAIR, trial("bigint-identity", 300, column="binary16")]
    (arm,) = (arm for arm in measured(RUN, twice, [ON]).times[0].arms)
    assert arm.ratio == pytest.approx(0.5)
