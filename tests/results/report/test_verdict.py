"""The sentences that a group's data come to."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from keybench.results.metrics import Metric, Reading
from keybench.results.report.groups import group_trials
from keybench.results.report.verdict import verdict
from keybench.results.report.wording import decimals, listed, number, ratio, size
from tests.results.conftest import a_run, trials


def sentences(seconds, density=None, fragmentation=None) -> list[str]:
    """The verdict on trials with these insert times, one a block, and these densities and fragmentations."""
    blocks = len(next(iter(seconds.values())))
    made = []
    for trial in trials(tuple(seconds), ("postgresql",), blocks, 1000, (100,), after=False):
        found = [Reading(Metric.INSERT_SECONDS, seconds[trial.layout][trial.block - 1], "measured")]
        for metric, values in ((Metric.LEAF_DENSITY, density), (Metric.LEAF_FRAGMENTATION, fragmentation)):
            if values:
                found.append(Reading(metric, values[trial.layout], "measured"))
        made.append(replace(trial, column="uuid", readings=tuple(found), series=()))
    (group,) = group_trials(a_run(blocks=blocks), made, [])
    return verdict(group)


def test_the_cheapest_and_the_dearest_are_named() -> None:
    said = sentences({"bigint-identity": [1.0] * 6, "uuid-v4": [2.5] * 6, "uuid-v7": [1.05] * 6})
    assert said == [
        "uuid-v7 keeps within 10\u00a0% of bigint-identity. uuid-v4 costs most: 2.50× the time of bigint-identity over "
        "all rows (2.50× to 2.50× in 6 blocks)."
    ]


def test_all_may_keep_up() -> None:
    said = sentences({"bigint-identity": [1.0], "uuid-v4": [1.02], "uuid-v7": [0.9]})
    assert said == [
        "All 2 layouts keep within 10\u00a0% of bigint-identity; the slowest is uuid-v4 at 1.02× the time of "
        "bigint-identity over all rows.",
        "One block: no interval; use --blocks 6.",
    ]


def test_one_block_above_the_limit_is_enough_not_to_keep_up() -> None:
    said = sentences({"bigint-identity": [1.0, 1.0], "uuid-v4": [3.0, 3.0], "uuid-v7": [1.0, 1.2]})
    assert said[0].startswith("No layout keeps within 10\u00a0% of bigint-identity: uuid-v7 comes nearest at 1.10×.")


def test_ratios_are_taken_within_a_block() -> None:
    said = sentences({"bigint-identity": [1.0, 10.0], "uuid-v4": [2.0, 20.0]})
    cost = "2.00× the time of bigint-identity over all rows (2.00× to 2.00× in 2 blocks)"
    assert said[0] == f"uuid-v4 costs most: {cost}."


def test_half_empty_pages_in_perfect_order_are_pointed_out() -> None:
    same = [1.0] * 6
    said = sentences(
        {"bigint-identity": same, "efcore-sequential": same, "uuid-v4": same},
        {"bigint-identity": 90.0, "efcore-sequential": 52.0, "uuid-v4": 69.0},
        {"bigint-identity": 0.0, "efcore-sequential": 0.1, "uuid-v4": 50.0},
    )
    assert said[1] == (
        "efcore-sequential leaves its leaf pages emptiest, 52.0\u00a0% full and 0.1\u00a0% out of order; those of the "
        "control are 90.0\u00a0% full. Fragmentation alone would not show the empty space of efcore-sequential."
    )


def test_numbers_as_they_are_written() -> None:
    assert [ratio(value) for value in (0.953, 1.0, 12.34, 123.4)] == ["0.95×", "1.00×", "12.3×", "123×"]
    assert [number(value) for value in (0.0, 1234.0, 0.01234, -2.5)] == ["0", "1,234", "0.0123", "−2.50"]
    assert [size(value) for value in (0, 1023, 1536, 3 * 2**40)] == ["0 bytes", "1,023 bytes", "1.50 KiB", "3 TiB"]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh")) == "a, b, c, d, e, f and 2 more"


@given(st.floats(1e-5, 1e12))
def test_a_number_keeps_three_digits(value) -> None:
    written = float(number(value).replace(",", ""))
    assert abs(written - value) <= max(0.5 * 10 ** -decimals([value]), 0) * 1.001
