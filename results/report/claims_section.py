"""The section on published claims: those that the runs of a page answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from keybench.results.claims import ClaimRow
from keybench.results.claims.answers import answers
from keybench.results.claims.cells import cells
from keybench.results.report.figures.figure import Figure
from keybench.results.report.figures.published_ratios import claims_figure
from keybench.results.store.records import Environment, Run, Trial


@dataclass(frozen=True)
class ClaimsSection:
    """The rows that the runs answer, the number of claims they do not answer, and the command that lists those."""

    rows: list[ClaimRow]
    unanswered: int
    command: str
    picture: Figure | None = None
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
    rows = answers([cell for run in ordered for cell in cells(run, trials[run.id], environments[run.id])])
    shown = [row for row in rows if row.database]
    unanswered = {row.claim for row in rows} - {row.claim for row in shown}
    command = f"keybench claims {' '.join(run.id for run in runs)} --all"
    return ClaimsSection(shown, len(unanswered), command, claims_figure(shown, "claims-forest"))
