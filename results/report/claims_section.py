"""The section on published claims: those that the runs of a page answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from keybench.model.names import NO_DATABASE
from keybench.results.claims.answers import ClaimRow, Verdict, answers
from keybench.results.claims.estimate import trial_groups
from keybench.results.plots.canvas import drawing
from keybench.results.plots.forest import Ratio, Section, forest_plot
from keybench.results.plots.palette import INK, KINDS, SOFT, Style
from keybench.results.report.figures.figure import ReportFigure, Value, join
from keybench.results.store.records import Environment, Run, Trial
from keybench.results.wording import plural, ratio


@dataclass(frozen=True)
class ClaimsSection:
    """The rows that the runs answer, the number of claims they do not answer, and the command that lists those."""

    rows: list[ClaimRow]
    unanswered: int
    command: str
    picture: ReportFigure | None = None
    """The claims that are ratios, if there are several."""

    @property
    def by_claim(self) -> list[list[ClaimRow]]:
        """The rows of each claim together."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: row.claim)]

    @property
    def modelled(self) -> bool:
        """Whether a page model answers any row."""
        return any(row.modelled for row in self.rows)


def claims_section(
    runs: Sequence[Run], trials: Mapping[str, Sequence[Trial]], environments: Mapping[str, Sequence[Environment]]
) -> ClaimsSection:
    """What these runs say about published claims; trials and environments are given by run id."""
    ordered = sorted(runs, key=lambda run: run.started)
    rows = answers([group for run in ordered for group in trial_groups(run, trials[run.id], environments[run.id])])
    shown = [row for row in rows if row.database]
    unanswered = {row.claim for row in rows} - {row.claim for row in shown}
    command = f"keybench compare {' '.join(run.id for run in runs)} --claims --all"
    return ClaimsSection(shown, len(unanswered), command, claims_figure(shown, "claims-forest"))


_MOST_ROWS: Final = 48
_MOST_LETTERS: Final = 34
_FARTHEST: Final = 100.0
"""A larger ratio is drawn at the edge; its figure is written beside it."""

_, _NOTICEABLE, _LOUD = KINDS
_STYLES: Final[dict[Verdict, Style]] = {
    "reproduced": Style(INK, "o"),
    "undecided": Style(SOFT, "s"),
    "not reproduced": Style(_NOTICEABLE, "D"),
    "contradicted": Style(_LOUD, "X"),
}
"""Marker and colour both show the verdict, so that either is enough."""


def claims_figure(rows: Sequence[ClaimRow], key: str) -> ReportFigure | None:
    """The rows that are ratios, in the order of the claims; None if there are fewer than two."""
    ratios = [row for row in rows if row.unit == "×" and row.estimate is not None and row.database]
    if len(ratios) < 2:
        return None
    drawn = ratios[:_MOST_ROWS]
    counts = ", ".join(
        f"{count} {verdict}" for verdict in _STYLES if (count := sum(row.verdict == verdict for row in ratios))
    )
    with drawing():
        svg = forest_plot([Section("", [_ratio(row) for row in drawn])], "", key)
    return ReportFigure(
        key=key,
        title="Published ratios and ours",
        unit="ratio, as each claim states it; log scale",
        caption=join(
            "Grey: what counts as the published figure. Marker and line: ours with its interval.",
            "Circle: reproduced; square: undecided; diamond: not reproduced; cross: contradicted.",
            "Hollow: from a page model." if any(row.modelled for row in drawn) else "",
            f"The first {len(drawn)} of {len(ratios)} are drawn; the numbers list all." if drawn != ratios else "",
        ),
        origin="" if len({row.origin for row in ratios}) > 1 else f"{ratios[0].origin.capitalize()}.",
        alt=f"Forest plot of {plural(len(drawn), 'published ratio')} and ours. In all: {counts}.",
        svg=svg,
        header=("claim", "database", "server", "published", "published, low", "published, high", "ratio", "ratio, low",
                "ratio, high", "blocks", "origin", "verdict"),
        rows=tuple(_data(row) for row in ratios),
    )  # fmt: skip


def _data(row: ClaimRow) -> tuple[Value, ...]:
    return (
        row.claim, row.database, row.server, row.published, row.published_low, row.published_high, row.estimate,
        row.low, row.high, float(row.blocks), row.origin, row.verdict,
    )  # fmt: skip


def _ratio(row: ClaimRow) -> Ratio:
    return Ratio(
        name=_short(row.claim, "keys alone" if row.database == NO_DATABASE else row.database),
        detail=_short(row.published),
        value=_clipped(row.estimate or 0.0),
        low=_clipped(row.low or 0.0),
        high=_clipped(row.high or 0.0),
        text=ratio(row.estimate or 0.0),
        style=_STYLES[row.verdict],
        hollow=row.modelled,
        region=(_end(row.published_low), _end(row.published_high)),
    )


def _end(value: float | None) -> float | None:
    return None if value is None else _clipped(value)


def _clipped(value: float) -> float:
    return min(max(value, 1 / _FARTHEST), _FARTHEST)


def _short(*words: str) -> str:
    text = " · ".join(word for word in words if word)
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
