"""Verdicts: fair to small effects, to opposite ones, to wide intervals and to too few blocks."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keybench.results.claims.answers import judge
from keybench.results.claims.claim import ClaimQuestion
from keybench.results.claims.estimate import ClaimAnswer


def asked(compare: str = "ratio", metric: str = "insert_seconds", **published: object) -> ClaimQuestion:
    sides = {"of": "uuid-v4", "to": "uuid-v7"} if compare in ("ratio", "difference") else {"of": "uuid-v4"}
    return ClaimQuestion(
        compare=compare, metric=metric, databases=("sqlite",), scenario="quick", published="p", **sides, **published
    )  # type: ignore[arg-type]


def ours(low: float, high: float) -> ClaimAnswer:
    return ClaimAnswer((low * high) ** 0.5 if low > 0 else (low + high) / 2, low, high, 6, True, "measured")


SLOWER = asked(value=1.5)
HALF = asked(high=0.5)
LESS = asked(direction="less")
ALIKE = asked(same=True)
DENSITY = asked("value", "leaf_density", value=70.0)
EMPTIER = asked("difference", "leaf_density", direction="less", within=5)


@pytest.mark.parametrize(
    ("question", "low", "high", "verdict", "reason"),
    [
        (SLOWER, 1.4, 1.6, "reproduced", ""),
        (SLOWER, 1.2, 1.43, "reproduced", ""),  # within 5 % of 1.5 from 1.4286 on
        (SLOWER, 1.1, 1.4, "not reproduced", "The effect goes the same way but is smaller than published."),
        (SLOWER, 1.7, 1.9, "not reproduced", "The effect is larger than published."),
        (SLOWER, 0.97, 1.02, "not reproduced", "The effect is smaller than published, if there is any."),
        (SLOWER, 1.0, 1.0, "not reproduced", "There is no effect, or hardly any."),
        (SLOWER, 0.7, 0.9, "contradicted", "The effect goes the other way."),
        (SLOWER, 0.9, 1.6, "undecided",
         "The interval contains both the published figure and no effect: more blocks make it narrower."),
        (HALF, 0.3, 0.4, "reproduced", ""),
        (HALF, 0.49, 0.6, "reproduced", ""),
        (HALF, 0.6, 0.7, "not reproduced", "The effect goes the same way but is smaller than published."),
        (HALF, 1.1, 1.2, "contradicted", "The effect goes the other way."),
        (LESS, 0.8, 0.9, "reproduced", ""),
        (LESS, 0.96, 0.98, "not reproduced", "There is no effect, or hardly any."),
        (LESS, 1.01, 1.03, "not reproduced", "There is no effect, or hardly any."),
        (LESS, 1.2, 1.3, "contradicted", "The effect goes the other way."),
        (ALIKE, 0.97, 1.03, "reproduced", "It lies within 0.95× to 1.05×."),
        (ALIKE, 1.02, 1.08, "undecided",
         "The interval lies partly beyond 0.95× to 1.05×: more blocks make it narrower."),
        (ALIKE, 1.3, 1.5, "contradicted", "There is a difference: it lies beyond 0.95× to 1.05×."),
        (DENSITY, 69.0, 69.0, "reproduced", ""),
        (asked(low=0.95, high=1.15), 0.44, 2.21, "undecided",
         "The interval contains both the published figure and others: more blocks make it narrower."),
        (DENSITY, 90.0, 90.0, "not reproduced", "It lies above what was published."),
        (DENSITY, 50.0, 50.0, "not reproduced", "It lies below what was published."),
        (EMPTIER, -20.0, -20.0, "reproduced", ""),
        (EMPTIER, -1.0, -1.0, "not reproduced", "There is no effect, or hardly any."),
        (EMPTIER, 3.0, 3.0, "not reproduced", "There is no effect, or hardly any."),
        (EMPTIER, 6.0, 6.0, "contradicted", "The effect goes the other way."),
        (asked("value", "leaf_density", high=1.0), 0.2, 0.2, "reproduced", ""),
        (asked("value", "leaf_density", high=1.0), 0.2, 3.0, "reproduced", ""),  # counts: the median is judged
        (asked("value", "leaf_density", high=0.5), 0.2, 3.0, "not reproduced", "It lies above what was published."),
        (asked("value", "duplicate_keys", value=0.0), 0.0, 0.0, "reproduced", ""),
        (asked("value", "duplicate_keys", value=0.0), 3.0, 3.0, "not reproduced", "It lies above what was published."),
        (asked(value=1.03), 0.99, 1.01, "reproduced", ""),  # so near to no effect that it has no side
        (asked("growth", low=1.5), 1.2, 1.3, "not reproduced",
         "The effect goes the same way but is smaller than published."),
    ],
)  # fmt: skip
def test_verdicts(question: ClaimQuestion, low: float, high: float, verdict: str, reason: str) -> None:
    assert judge(question, ours(low, high)) == (verdict, reason)


RATIOS = st.floats(0.05, 20)


@given(RATIOS, RATIOS, RATIOS)
def test_a_claim_and_its_inverse_have_the_same_verdict(published: float, a: float, b: float) -> None:
    """`twice as slow` is judged as `twice as fast` with the two sides exchanged."""
    low, high = sorted((a, b))
    ends = (published / 1.05, published * 1.05)
    assume(all(abs(end - 1) > 1e-9 for end in ends))  # rounding decides at an end
    assume(all(abs(x / end - 1) > 1e-9 for x in (low, high) for end in (*ends, 1.0)))
    straight = judge(asked(value=published), ours(low, high))
    turned = judge(asked(value=1 / published), ours(1 / high, 1 / low))
    assert straight[0] == turned[0]


@given(st.floats(0.2, 5), RATIOS, RATIOS)
def test_verdicts_never_claim_more_than_the_interval(published: float, a: float, b: float) -> None:
    low, high = sorted((a, b))
    question = asked(value=published)
    verdict, reason = judge(question, ours(low, high))
    least, most = question.published_range
    if verdict == "reproduced":
        assert low <= most
        assert high >= least
    if verdict == "contradicted":
        assert high < 1 if published > 1 else low > 1
    if verdict == "not reproduced":
        assert low > most or high < least
    assert reason or verdict == "reproduced"
