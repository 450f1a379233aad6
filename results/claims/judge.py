"""From an estimate and the published figure to a verdict."""

from __future__ import annotations

from math import isinf

from keybench.results import statistics
from keybench.results.claims.claim import Question
from keybench.results.claims.estimate import ALPHA, Found, shown, unit
from keybench.results.claims.row import Verdict

Judgement = tuple[Verdict, str]

MORE_BLOCKS = "more blocks narrow it"


def judge(question: Question, found: Found) -> Judgement:
    """What the claim comes to, with the reason as a sentence; empty where the figures speak for themselves.

    An effect is reproduced where the interval meets the published figure and has no room for none, and contradicted
    where the whole interval lies on the other side of none. Where no difference was published, one beyond the margin
    contradicts. A plain figure (a density, say) has no other side: it is reproduced or not.
    """
    low, high = question.region
    nothing = question.no_effect
    if not found.enough:
        return "undecided", f"Too few blocks for an interval: --blocks {statistics.blocks_needed(ALPHA)}."
    if question.same:
        return _same(question, found)
    if nothing is None or low < nothing < high:
        return _figure(question, found)
    if low >= nothing:
        return _effect(low, high, found.low, found.high, nothing)
    return _effect(-high, -low, -found.high, -found.low, -nothing)


def _same(question: Question, found: Found) -> Judgement:
    low, high = question.region
    margin = f"{shown(low, unit(question))} to {shown(high, unit(question))}"
    if low <= found.low and found.high <= high:
        return "reproduced", f"It lies within {margin}."
    if found.low > high or found.high < low:
        return "contradicted", f"There is a difference: it lies beyond {margin}."
    return "undecided", f"The interval lies partly beyond {margin}: {MORE_BLOCKS}."


def _figure(question: Question, found: Found) -> Judgement:
    low, high = question.region
    if found.low > high:
        return "not reproduced", "It lies above what was published."
    if found.high < low:
        return "not reproduced", "It lies below what was published."
    if (isinf(low) or isinf(high)) and not (low <= found.low and found.high <= high):
        return "undecided", f"The interval lies on both sides of the published bound: {MORE_BLOCKS}."
    return "reproduced", ""


def _effect(low: float, high: float, least: float, most: float, nothing: float) -> Judgement:
    """Of an effect published as more than nothing, from low to high; ours lies from least to most."""
    if most < nothing:
        return "contradicted", "The effect goes the other way."
    if least > high:
        return "not reproduced", "The effect is larger than published."
    if most < low:
        smaller = "The effect goes the same way but is smaller than published."
        return "not reproduced", smaller if least > nothing else "There is no effect, or hardly any."
    if least > nothing:
        return "reproduced", ""
    return "undecided", f"The interval has room for what was published and for no effect: {MORE_BLOCKS}."
