"""Derives a verdict from an answer and the published figure."""

from __future__ import annotations

from dataclasses import replace

from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.claims.claim import Question
from keybench.results.claims.estimate import Answer, shown, unit
from keybench.results.claims.row import Verdict

Judgement = tuple[Verdict, str]

MORE_BLOCKS = "more blocks make it narrower"


def judge(question: Question, answer: Answer) -> Judgement:
    """The verdict, and the reason as a sentence; the reason is empty if the figures need no comment.

    An effect is reproduced if the interval overlaps the published figure and excludes "no effect". It is contradicted
    if the whole interval shows the opposite effect. If no difference was published, a difference beyond the margin
    contradicts it. A plain figure (a density, or a ratio near 1) has no opposite: it is reproduced if the whole
    interval lies within the margin. Figures that repeat exactly are judged by their median over blocks.
    """
    low, high = question.region
    nothing = question.no_effect
    if not answer.enough:
        return "undecided", f"Too few blocks for an interval: use --blocks {ENOUGH_BLOCKS}."
    if question.exact:  # the range over blocks comes from random bytes
        answer = replace(answer, low=answer.value, high=answer.value)
    if question.same:
        return _same(question, answer)
    if nothing is None or low < nothing < high:
        return _figure(question, answer)
    nil = question.nil
    if low >= nothing:
        return _effect((low, high), (answer.low, answer.high), nothing, nil)
    return _effect((-high, -low), (-answer.high, -answer.low), -nothing, (-nil[1], -nil[0]))


def _same(question: Question, answer: Answer) -> Judgement:
    low, high = question.region
    margin = f"{shown(low, unit(question))} to {shown(high, unit(question))}"
    if low <= answer.low and answer.high <= high:
        return "reproduced", f"It lies within {margin}."
    if answer.low > high or answer.high < low:
        return "contradicted", f"There is a difference: it lies beyond {margin}."
    return "undecided", f"The interval lies partly beyond {margin}: {MORE_BLOCKS}."


def _figure(question: Question, answer: Answer) -> Judgement:
    low, high = question.region
    if answer.low > high:
        return "not reproduced", "It lies above what was published."
    if answer.high < low:
        return "not reproduced", "It lies below what was published."
    if low <= answer.low and answer.high <= high:
        return "reproduced", ""
    return "undecided", f"The interval contains both the published figure and others: {MORE_BLOCKS}."


Span = tuple[float, float]


def _effect(published: Span, ours: Span, nothing: float, nil: Span) -> Judgement:
    """The verdict on an effect that was published as positive; an effect within `nil` is negligible."""
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
    return "undecided", f"The interval contains both the published figure and no effect: {MORE_BLOCKS}."
