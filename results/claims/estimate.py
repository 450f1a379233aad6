"""Which trials can answer a question, and their answer: an estimate with an interval over blocks, or a reason."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from keybench.model.load_path import load_path
from keybench.model.metric import Metric
from keybench.model.names import NO_DATABASE
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group, groups_of
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.ratios import ByBlock, ratio_to_control
from keybench.results.claims.claim import ClaimQuestion, ClaimSide
from keybench.results.store.records import Environment, Run, Trial
from keybench.results.wording import number, plural, ratio

_OTHER_ORDER = "binary16-mssql"
"""The column in SQL Server's order. A claim that names only a layout never means this column."""


def groups_to_ask(run: Run, trials: Iterable[Trial], environments: Iterable[Environment]) -> list[Group]:
    """The trials of a run in groups, sorted by their work. In trials without a database, the server's name says how the
    keys were made: it becomes the column, so that the ways are arms of one group and can be compared."""
    prepared = (
        # `groups_of` keeps servers and numbers of writers apart: without them, all ways are in one group.
        replace(trial, server="", column=trial.server, writers=0) if trial.database == NO_DATABASE else trial
        for trial in trials
    )
    return sorted(groups_of(run, prepared, environments), key=lambda group: group.work)


def can_answer(group: Group, question: ClaimQuestion) -> bool:
    """Whether its trials did the work that the question asks about, on a server if only a server can tell."""
    return (
        (question.modellable or not group.modelled)
        and group.scenario in (question.scenario, *question.also)
        and question.payload in (None, group.payload)
        and question.writers in (None, group.writers)
    )


def arm_of(group: Group, side: ClaimSide) -> Arm | None:
    """The arm that a side of a comparison names; None if there is none. For a side without a column: the arm in the
    default column that the run recorded, else in any column, `_OTHER_ORDER` last."""
    arms = {arm.column: arm for arm in group.arms if arm.layout == side.layout}
    if side.column:
        return arms.get(side.column)
    pair = group.run.pairing(group.database, side.layout)
    if pair and pair.default in arms:
        return arms[pair.default]
    plain = [arm for column, arm in arms.items() if column != _OTHER_ORDER]
    return next(iter([*plain, *arms.values()]), None)


@dataclass(frozen=True)
class ClaimAnswer:
    """An estimate on the question's scale. `low` to `high` is the interval, or the range if blocks are too few."""

    value: float
    low: float
    high: float
    blocks: int
    enough: bool
    """Whether there are enough blocks for an interval; one is enough if the figure repeats exactly."""
    origin: str

    def text(self, unit: str) -> str:
        """The answer as text: `1.12× (1.08× to 1.16×, 6 blocks)`."""
        blocks = plural(self.blocks, "block")
        if self.low == self.high:
            return f"{shown(self.value, unit)} ({blocks})"
        kind = "" if self.enough else "range "
        return f"{shown(self.value, unit)} ({kind}{shown(self.low, unit)} to {shown(self.high, unit)}, {blocks})"


def shown(value: float, unit: str) -> str:
    """A figure in that unit as text."""
    return ratio(value) if unit == "×" else f"{number(value)} {unit}".strip()


def answer_of(group: Group, question: ClaimQuestion) -> ClaimAnswer | str:
    """The answer of one group of trials, or why it has none, as a sentence."""
    # what stands against an answer
    path = load_path(group.run.load_path)
    if not path.in_order:
        return path.no_claim
    if group.rows < question.rows_at_least:
        return f"{group.rows:,} rows are too few: the claim needs {question.rows_at_least:,}."
    arms = []
    for side in question.sides:
        arm = arm_of(group, side)
        if arm is None:
            return f"{side} is not among the trials."
        arms.append(arm)
    if problem := _small(group, question, arms[0]):  # of two, the one that the claim is about
        return problem
    # the figure that the question asks for: growth and value of one arm, ratio and difference of two
    if question.compare == "growth":
        first, last = _growth(arms[0], question.chunks)  # the later time is compared with the earlier, its "control"
        return _summary(question, last, first, "measured") or _absent(arms[:1], question, last)  # growth has one arm
    values = [arm.values(question.metric) for arm in arms]
    origins = set[str]().union(*(arm.origins(question.metric) for arm in arms))
    origin = "modelled" if group.modelled else "derived" if "derived" in origins else "measured"
    if question.compare == "value":
        rows = float(group.rows) if question.per == "row" else 1.0  # the value of each block is divided by them
        answer = _summary(question, values[0], dict.fromkeys(values[0], rows), origin)
    else:
        answer = _summary(question, values[0], values[1], origin)
    return answer or _absent(arms, question, *values)


def _small(group: Group, question: ClaimQuestion, arm: Arm) -> str:
    """Why the index is too small for the question; empty if it is large enough."""
    if not question.index_over_cache:
        return ""
    sizes = list(arm.values(Metric.INDEX_BYTES).values())
    if not sizes or group.environment is None:
        return "The size of the index or of the server's cache is unknown."
    times = median(sizes) / max(1, group.environment.cache_bytes)  # 0: unknown
    if times >= question.index_over_cache:
        return ""
    return f"The index is {times:.2g} times the server's cache: the claim needs {question.index_over_cache:g} times."


def _growth(arm: Arm, chunks: int) -> tuple[dict[int, float], dict[int, float]]:
    """(seconds of the first of `chunks` equal parts of the rows, seconds of the last), each by block."""
    if chunks == 2:
        return arm.values(Metric.FIRST_HALF_SECONDS), arm.values(Metric.SECOND_HALF_SECONDS)
    first, last = {}, {}
    for trial in arm.good:
        for line in trial.series:
            if line.metric == Metric.INSERT_SECONDS and len(line.x) >= chunks:
                ends = np.array([1 / chunks, 1 - 1 / chunks, 1.0]) * trial.rows  # of the first, last but one, last part
                first_end, last_begin, last_end = np.interp(ends, np.r_[0, line.x], np.r_[0.0, line.y])
                first[trial.block], last[trial.block] = float(first_end), float(last_end - last_begin)
    return first, last


def _absent(arms: list[Arm], question: ClaimQuestion, *values: ByBlock) -> str:
    """Why there is no estimate, as a sentence; `values` has those of each arm, by block."""
    title = question.metric.definition.title.lower()
    lacking = [arm for arm, by_block in zip(arms, values, strict=True) if not by_block]
    if not lacking:
        return f"No block has {title} of both above 0."
    errors = [trial.error for trial in lacking[0].failed]
    why = [*lacking[0].reasons(question.metric), *errors, "nothing was recorded"][0].rstrip(".")
    return f"No {title} of {lacking[0].layout}: {why}."


def _summary(question: ClaimQuestion, treated: ByBlock, control: ByBlock, origin: str) -> ClaimAnswer | None:
    """`treated` over `control`, or minus it for a difference, in the blocks that have both; None without such a block.
    Figures that do not repeat exactly get an interval if blocks are enough, all others a range."""
    blocks = sorted(block for block in treated if block in control)
    if question.compare == "difference":
        each = [treated[block] - control[block] for block in blocks]
    else:
        each = [treated[block] / control[block] for block in blocks if control[block] > 0]
    if not each:
        return None
    enough = question.exact or len(each) >= ENOUGH_BLOCKS
    if not question.exact and enough:
        result = ratio_to_control(treated, control)
        if result is not None:
            return ClaimAnswer(result.ratio, result.low, result.high, blocks=result.blocks, enough=True, origin=origin)
    return ClaimAnswer(median(each), min(each), max(each), blocks=len(each), enough=enough, origin=origin)
