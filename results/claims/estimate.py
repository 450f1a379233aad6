"""What trials answer to a question: an estimate with an interval over blocks, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from keybench.model.load_path import load_path
from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.p_values import ALPHA, ENOUGH_BLOCKS
from keybench.results.analysis.ratios import ratio_to_control
from keybench.results.claims.cells import Cell
from keybench.results.claims.claim import Question
from keybench.results.wording import number, plural, ratio


@dataclass(frozen=True)
class Answer:
    """An estimate on the question's scale. `low` to `high` is the interval, or the range if blocks are too few."""

    value: float
    low: float
    high: float
    blocks: int
    enough: bool
    """Whether there are enough blocks for an interval; one is enough if the figure repeats exactly."""
    origin: str

    def text(self, unit: str) -> str:
        """`1.12× (1.08× to 1.16×, 6 blocks)`."""
        blocks = plural(self.blocks, "block")
        if self.low == self.high:
            return f"{shown(self.value, unit)} ({blocks})"
        kind = "" if self.enough else "range "
        return f"{shown(self.value, unit)} ({kind}{shown(self.low, unit)} to {shown(self.high, unit)}, {blocks})"


@dataclass(frozen=True)
class NoAnswer:
    """No estimate, and the reason as a sentence."""

    reason: str


def shown(value: float, unit: str) -> str:
    """A figure in that unit as text."""
    return ratio(value) if unit == "×" else f"{number(value)} {unit}".strip()


def unit(question: Question) -> str:
    """The unit of the question's scale: `×` for ratios."""
    if question.compare in ("ratio", "growth"):
        return "×"
    if question.compare == "computed":
        return ""
    name = question.metric.definition.unit
    if question.compare == "difference" and question.metric.definition.is_percentage:
        return "points"
    return f"{name} a row" if question.per == "row" else name


def estimate(cell: Cell, question: Question, of: Subject = KEY) -> Answer | NoAnswer:
    """The answer of one cell; `of` is the subject of a page model's variant if that variant is to answer."""
    path = load_path(cell.run.load_path)
    if not path.in_order:
        return NoAnswer(path.no_claim)
    if cell.rows < question.rows_at_least:
        return NoAnswer(f"{cell.rows:,} rows are too few: the claim needs {question.rows_at_least:,}.")
    arms = []
    for side in question.sides:
        arm = cell.arm(side)
        if arm is None:
            return NoAnswer(f"{side} is not among the trials.")
        arms.append(arm)
    if problem := _small(cell, question, arms[0]):
        return NoAnswer(problem)
    if question.compare == "growth":
        first, last = _growth(arms[0], question.chunks)
        return _summary(question, last, first, "measured") or NoAnswer(_absent(arms[:1], question, last))
    values = [arm.values(question.metric, of) or arm.values(question.metric) for arm in arms]
    origin = "modelled" if cell.modelled else _origin(arms, question.metric)
    if question.compare == "value":
        own = {block: value / cell.rows for block, value in values[0].items()} if question.per == "row" else values[0]
        answer = _summary(question, own, dict.fromkeys(own, 1.0), origin)
    else:
        answer = _summary(question, values[0], values[1], origin)
    return answer or NoAnswer(_absent(arms, question, *values))


def _small(cell: Cell, question: Question, arm: Arm) -> str:
    """Why the index is too small for the question; empty if it is large enough."""
    if not question.index_over_cache:
        return ""
    sizes = list(arm.values(Metric.INDEX_BYTES).values())
    if not sizes or cell.environment is None:
        return "The size of the index or of the server's cache is unknown."
    times = median(sizes) / max(1, cell.environment.cache_bytes)
    if times >= question.index_over_cache:
        return ""
    return f"The index is {times:.2g} times the server's cache: the claim needs {question.index_over_cache:g} times."


def _growth(arm: Arm, chunks: int) -> tuple[dict[int, float], dict[int, float]]:
    """Insert time of the first and of the last of `chunks` equal parts of the rows, by block."""
    if chunks == 2:
        return arm.values(Metric.FIRST_HALF_SECONDS), arm.values(Metric.SECOND_HALF_SECONDS)
    first, last = {}, {}
    for trial in arm.good:
        for line in trial.series:
            if line.metric == Metric.INSERT_SECONDS and len(line.x) >= chunks:
                edges = np.array([1 / chunks, 1 - 1 / chunks, 1.0]) * trial.rows
                begin, rest, end = np.interp(edges, np.r_[0, line.x], np.r_[0.0, line.y])
                first[trial.block], last[trial.block] = float(begin), float(end - rest)
    return first, last


def _absent(arms: list[Arm], question: Question, *values: Mapping[int, float]) -> str:
    title = question.metric.definition.title.lower()
    lacking = [arm for arm, by_block in zip(arms, values, strict=True) if not by_block]
    if not lacking:
        return f"No block has {title} of both above 0."
    errors = [trial.error for trial in lacking[0].failed]
    why = [*lacking[0].reasons(question.metric), *errors, "nothing was recorded"][0].rstrip(".")
    return f"No {title} of {lacking[0].layout}: {why}."


def _origin(arms: list[Arm], metric: Metric) -> str:
    """The origin of values from a server: derived if any of them is, else measured."""
    origins = set[str]().union(*(arm.origins(metric) for arm in arms))
    return "derived" if "derived" in origins else "measured"


def _summary(
    question: Question, treated: Mapping[int, float], control: Mapping[int, float], origin: str
) -> Answer | None:
    """The answer over blocks that have both values; None if there are none. Exact figures have their range as the
    interval."""
    blocks = sorted(block for block in treated if block in control)
    if question.compare == "difference":
        each = [treated[block] - control[block] for block in blocks]
    else:
        each = [treated[block] / control[block] for block in blocks if control[block] > 0]
    if not each:
        return None
    enough = question.exact or len(each) >= ENOUGH_BLOCKS
    if not question.exact and enough:
        known = ratio_to_control(treated, control, confidence=1 - ALPHA)
        if known is not None:
            return Answer(known.ratio, known.low, known.high, known.blocks, True, origin)
    return Answer(median(each), min(each), max(each), len(each), enough, origin)
