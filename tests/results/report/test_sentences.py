"""The judgement of a group's times, and numbers as text."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.results.analysis.group_comparison import judge
from keybench.results.analysis.groups import group_trials
from keybench.results.store.records import Trial
from keybench.results.wording import decimals, listed, number, ratio, size
from tests.results.conftest import a_run, trials


def made(seconds) -> list[Trial]:
    """Trials of 1,000 rows with these values."""
    blocks = len(next(iter(seconds.values())))
    found_trials = []
    for trial in trials(tuple(seconds), ("postgresql",), blocks, 1000, (100,), after=False):
        found = Reading(Metric.INSERT_SECONDS, seconds[trial.layout][trial.block - 1], "measured")
        found_trials.append(replace(trial, column="uuid", readings=(found,), series=()))
    return found_trials


STEADY = (1.0, 1.01, 0.99, 1.002, 0.998, 1.004)
"""The variation of six blocks of one layout."""


def about(seconds: float) -> list[float]:
    """Times of six blocks around this one."""
    return [seconds * part for part in STEADY]


WILD = [0.7, 2.9, 1.2, 0.8, 2.2, 1.4]


@pytest.mark.parametrize(
    ("v4", "v7", "verdicts"),
    [(about(2.5), about(1.01)[::-1], "same slower"), (about(1.5), about(0.8), "faster slower"),
     (WILD, WILD[::-1], "unclear unclear"), (about(1.02), about(0.99), "same same"),
     ([3.0, 3.3], [1.0, 1.2], "unclear unclear")],
)  # fmt: skip
def test_the_judgement_names_the_faster_the_equal_and_the_slower(v4, v7, verdicts) -> None:
    seconds = {"bigint-identity": about(1.0)[: len(v4)], "uuid-v4": v4, "uuid-v7": v7}
    (group,) = group_trials(a_run(blocks=len(v4)), made(seconds), [])
    found = judge(group)
    assert [one.verdict for one in found.treatments] == verdicts.split()


def test_a_layout_of_too_few_blocks_is_neither_faster_nor_slower() -> None:
    (group,) = group_trials(a_run(blocks=6), [
        replace(trial, status="error" if trial.layout == "uuid-v7" and trial.block > 2 else "ok")
        for trial in made({"bigint-identity": about(1.0), "uuid-v4": about(2.0), "uuid-v7": about(0.5)})
    ], [])  # fmt: skip
    found = judge(group)
    assert {one.arm.layout: one.verdict for one in found.treatments} == {"uuid-v4": "slower", "uuid-v7": "unclear"}


def test_numbers_as_text() -> None:
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
