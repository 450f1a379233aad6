"""Describes a question in words."""

from __future__ import annotations

from keybench.results.claims.claim import Question
from keybench.results.claims.row import ARITHMETIC


def phrase(question: Question, scenario: str = "") -> str:
    """What is compared, in a few words; `scenario` is given if it differs from the question's own."""
    if question.compare == "computed":
        return ARITHMETIC
    title, where = question.metric.definition.title.lower(), f"in {scenario or question.scenario}"
    if question.compare == "growth":
        part = "half" if question.chunks == 2 else f"1/{question.chunks} of the rows"
        return f"insert time of the last {part} over the first, {question.of}, {where}"
    if question.compare == "value":
        return f"{title}{' a row' if question.per == 'row' else ''}, {question.of}, {where}"
    how = "over" if question.compare == "ratio" else "minus"
    return f"{title}, {question.of} {how} {question.to}, {where}"
