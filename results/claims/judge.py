"""From an estimate and the published figure to a verdict."""

from __future__ import annotations

from dataclasses import replace

from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.claims.claim import Question
from keybench.results.claims.estimate import Answer, shown, unit
from keybench.results.claims.row import Verdict

Judgement = tuple[Verdict, str]

MORE_BLOCKS = "more blocks narrow it"


def judge(question: Question, found: Answer) -> Judgement:
    """What the claim comes to, with the reason as a sentence; empty where the figures speak for themselves.

    An effect is reproduced where the interval meets the published figure and has no room for none, and contradicted
    where the whole interval lies on the other side of none. Where no difference was published, one beyond the margin
    contradicts. A plain figure (a density, or a ratio near 1) has no other side: it is reproduced where the whole
    interval lies within the margin. What repeats exactly is judged by its median over blocks.
    """
    low, high = question.region
    nothing = question.no_effect
    if not found.enough:
        return "undecided", f"Too few blocks for an interval: --blocks {ENOUGH_BLOCKS}."
    if question.exact:  # its range over blocks is that of random bytes, not of the figure
        found = replace(found, low=found.value, high=found.value)
    if question.same:
        return _same(question, found)
    if nothing is None or low < nothing < high:
        return _figure(question, found)
    nil = question.nil
    if low >= nothing:
        return _effect((low, high), (found.low, found.high), nothing, nil)
    return _effect((-high, -low), (-found.high, -found.low), -nothing, (-nil[1], -nil[0]))


def _same(question: Question, found: Answer) -> Judgement:
    low, high = question.region
    margin = f"{shown(low, unit(question))} to {shown(high, unit(question))}"
    if low <= found.low and found.high <= high:
        return "reproduced", f"It lies within {margin}."
    if found.low > high or found.high < low:
        return "contradicted", f"There is a difference: it lies beyond {margin}."
    return "undecided", f"The interval lies partly beyond {margin}: {MORE_BLOCKS}."


def _figure(question: Question, found: Answer) -> Judgement:
    low, high = question.region
    if found.low > high:
        return "not reproduced", "It lies above what was published."
    if found.high < low:
        return "not reproduced", "It lies below what was published."
    if low <= found.low and found.high <= high:
        return "reproduced", ""
    return "undecided", f"The interval has room for what was published and for other figures: {MORE_BLOCKS}."


Span = tuple[float, float]


def _effect(published: Span, ours: Span, nothing: float, nil: Span) -> Judgement:
    """Of an effect published as more than nothing; in `nil` it is hardly there."""
    (low, high), (least, most) = published, ours
    if most < nil[0]:
        return "contradicted", "The effect goes the other way."
    if least > high:
        return "not reproduced", "The effect is larger than published."
    if most < low:
        if most <= nil[1]:
            return "not reproduced", "There is no effect, or hardly any."
        if least <= nothing:
            return "not reproduced", "The effect is smaller than published, if there is any."
        return "not reproduced", "The effect goes the same way but is smaller than published."
    if least > nothing:
        return "reproduced", ""
    return "undecided", f"The interval has room for what was published and for no effect: {MORE_BLOCKS}."
