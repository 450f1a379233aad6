"""Compares each metric of each pair of arms: both values, their ratio, and the verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose, isnan, log, nan
from statistics import median
from typing import Literal

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.p_values import shuffle_max, sign_flip_max
from keybench.results.analysis.ratios import Estimate, estimate, estimate_between
from keybench.results.analysis.verdict import verdict
from keybench.results.compare.conditions import apart, counted_apart, same_counts
from keybench.results.compare.sides import Side, pairs

Verdict = Literal[
    "faster", "slower", "lower", "higher", "changed", "same", "unclear", "not comparable", "not measured"
]  # fmt: skip

FAILED = "every trial failed"
RAW = "not relative to a control: it includes whatever changed on the machine between the two runs"
NO_RATIO = "no ratio of values that are not above zero"


@dataclass(frozen=True)
class Row:
    """One metric of one pair. `old` and `new` are medians over blocks; `p` is NaN if nothing was tested."""

    database: str
    server: str
    payload: int
    before: str
    after: str
    metric: Metric
    exact: bool
    """Whether the values were compared exactly, block by block."""
    relative: bool
    """Whether each run's values were first divided by its own control's in the same block."""
    old: float | None
    new: float | None
    estimate: Estimate | None = None
    p: float = nan
    verdict: Verdict = "unclear"
    reason: str = ""

    @property
    def change(self) -> str:
        """`better` or `worse` if the verdict and the metric's direction determine it, else empty."""
        better = self.metric.definition.better
        if better == "neither" or self.verdict not in {"faster", "slower", "lower", "higher"}:
            return ""
        return "better" if (self.verdict in {"faster", "lower"}) == (better == "lower") else "worse"

    @property
    def compared(self) -> bool:
        """Whether the two values were compared."""
        return self.verdict not in {"not comparable", "not measured"}


@dataclass(frozen=True)
class Comparison:
    """Two sides, all rows, and the arms that only one of them has."""

    before: Side
    after: Side
    rows: tuple[Row, ...]
    only_before: tuple[Arm, ...]
    only_after: tuple[Arm, ...]

    @property
    def one_run(self) -> bool:
        """Whether both sides are of the same blocks."""
        return self.before.run.id == self.after.run.id


@dataclass(frozen=True)
class _Cell:
    """A row whose ratios are still to be tested, jointly with the others of its family."""

    row: Row
    old: Mapping[int, float]
    new: Mapping[int, float]
    """Logarithms by block; NaN for values that have none."""


def compare(before: Side, after: Side, metrics: Collection[Metric] = tuple(Metric)) -> Comparison:
    """Compares all pairs in these metrics. Each metric gets one joint test per database, server and payload."""
    together, only_before, only_after = pairs(before, after)
    families: dict[tuple[str, str, int, int], list[tuple[Arm, Arm]]] = defaultdict(list)
    for old, new in together:
        families[new.database, new.server, new.payload, new.writers].append((old, new))
    rows: list[Row] = []
    for family in families.values():
        for metric in metrics:
            rows += _of_family(before, after, family, metric)
    return Comparison(before, after, tuple(rows), tuple(only_before), tuple(only_after))


def _of_family(before: Side, after: Side, family: Sequence[tuple[Arm, Arm]], metric: Metric) -> list[Row]:
    settled: list[Row | None] = []
    cells: list[_Cell] = []
    for old, new in family:
        row = _row(before, after, old, new, metric)
        if isinstance(row, _Cell):
            cells.append(row)
            settled.append(None)
        elif row is not None:
            settled.append(row)
    tested = iter(_tested(cells, paired=before.run.id == after.run.id))
    return [row or next(tested) for row in settled]


def _row(before: Side, after: Side, old: Arm, new: Arm, metric: Metric) -> Row | _Cell | None:
    """The row, or a cell that is still to be tested; None if neither side mentions the metric."""
    first, second = old.values(metric), new.values(metric)
    if not first and not second and not (old.mentions(metric) or new.mentions(metric)):
        return None
    about = metric.definition
    row = Row(
        new.database, new.server, new.payload, old.name, new.name, metric, False, False,
        median(first.values()) if first else None, median(second.values()) if second else None,
    )  # fmt: skip
    if not first or not second:
        if not first and not second and old.good and new.good:
            return None  # neither engine provides it
        return replace(row, verdict="not measured", reason=_why_none(old if not first else new, metric))
    if reasons := (counted_apart if about.exact else apart)(before, after, old, new):
        return replace(row, verdict="not comparable", reason="; ".join(reasons))
    if about.exact and same_counts(before, after, old, new):
        return _exactly(row, first, second)
    if before.run.id == after.run.id or not about.is_time:
        return _Cell(row, _logs(first), _logs(second))
    own, other = _to_control(before, old, metric), _to_control(after, new, metric)
    if not own or not other:
        return replace(row, estimate=estimate_between(_column(_logs(first)), _column(_logs(second))), reason=RAW)
    return _Cell(replace(row, relative=True), own, other)


def _exactly(row: Row, first: dict[int, float], second: dict[int, float]) -> Row:
    """Blocks with the same number have the same keys, so every block must agree."""
    blocks = sorted({*first} & {*second})
    row = replace(row, exact=True)
    if not blocks:
        return replace(row, verdict="not measured", reason="no block has both values")
    signs = {0 if isclose(second[b], first[b], rel_tol=1e-9) else 1 if second[b] > first[b] else -1 for b in blocks}
    signs = signs - {0} or signs
    outcome: Verdict = "changed" if len(signs) > 1 else {0: "same", 1: "higher", -1: "lower"}[signs.pop()]  # type: ignore[assignment]
    before, after = (median(side[block] for block in blocks) for side in (first, second))
    known = Estimate(after / before, nan, nan, len(blocks)) if before > 0 and after > 0 else None
    return replace(row, old=before, new=after, estimate=known, verdict=outcome)


def _to_control(side: Side, arm: Arm, metric: Metric) -> dict[int, float]:
    """Logs of the arm's ratios to the control of the same block; empty for the control itself or without a control."""
    control = side.control(arm)
    if control is None or control.layout == arm.layout:
        return {}
    own, base = _logs(arm.values(metric)), _logs(control.values(metric))
    ratios = {block: own[block] - base[block] for block in own if block in base}
    return {block: log for block, log in ratios.items() if not isnan(log)}


def _tested(cells: Sequence[_Cell], *, paired: bool) -> list[Row]:
    """The cells' rows with estimate, joint p and verdict; `paired` means that both sides share their blocks."""
    if not cells:
        return []
    if paired:
        logs = _matrix([{b: cell.new[b] - cell.old[b] for b in cell.new if b in cell.old} for cell in cells])
        p = sign_flip_max(logs)
        estimates = [estimate(own) for own in logs.T]
    else:
        old, new = _matrix([cell.old for cell in cells]), _matrix([cell.new for cell in cells])
        p = shuffle_max(old, new)
        estimates = [estimate_between(first, second) for first, second in zip(old.T, new.T, strict=True)]
    return [_judged(cell.row, ratio, float(own)) for cell, ratio, own in zip(cells, estimates, p, strict=True)]


def _matrix(arms: Sequence[Mapping[int, float]]) -> Floats:
    """(blocks, arms): a row for each block that any arm has; NaN if an arm lacks that block."""
    blocks = sorted({block for arm in arms for block in arm})
    return np.array([[arm.get(block, nan) for arm in arms] for block in blocks]).reshape(len(blocks), len(arms))


def _column(logs: Mapping[int, float]) -> Floats:
    return np.array(list(logs.values()))


def _judged(row: Row, ratio: Estimate | None, p: float) -> Row:
    if ratio is None:  # no positive values, so no logarithms
        return replace(row, verdict="same" if row.old == row.new else "unclear", reason=NO_RATIO)
    judged = verdict(ratio, p)
    words: dict[str, Verdict] = {"faster": "lower", "slower": "higher"}
    timed = row.metric.definition.is_time
    return replace(row, estimate=ratio, p=p, verdict=judged if timed else words.get(judged, judged))


def _logs(values: Mapping[int, float]) -> dict[int, float]:
    return {block: log(value) if value > 0 else nan for block, value in values.items()}


def _why_none(arm: Arm, metric: Metric) -> str:
    if not arm.good:
        return f"{arm.name}: {FAILED}"
    return f"{arm.name}: {' '.join(arm.reasons(metric)) or 'nothing was recorded'}"
