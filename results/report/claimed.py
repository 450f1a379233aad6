"""Published claims on a page: those that its runs answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from keybench.results.claims import ClaimRow
from keybench.results.claims.arms import cells
from keybench.results.claims.assemble import answers
from keybench.results.report.figures.claims_picture import claims_figure
from keybench.results.report.figures.figure import Figure
from keybench.results.store.store import Environment, Run, Trial


@dataclass(frozen=True)
class Claimed:
    """The rows that the runs answer, how many claims are left, and the command that shows those."""

    rows: list[ClaimRow]
    others: int
    command: str
    picture: Figure | None = None
    """The claims that are ratios, where there are several."""

    @property
    def by_claim(self) -> list[list[ClaimRow]]:
        """The rows of each claim together."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: row.claim)]

    @property
    def modelled(self) -> bool:
        """Whether any row is by a page model."""
        return any(row.modelled for row in self.rows)


def claimed(
    runs: Sequence[Run], trials: Mapping[str, Sequence[Trial]], environments: Mapping[str, Sequence[Environment]]
) -> Claimed:
    """What these runs, with what is known of them by run, say of published claims."""
    ordered = sorted(runs, key=lambda run: run.started)
    measured = [cell for run in ordered for cell in cells(run, trials[run.id], environments[run.id])]
    found = answers(measured)
    shown = [row for row in found if row.database]
    others = {row.claim for row in found} - {row.claim for row in shown}
    command = f"keybench claims {' '.join(run.id for run in runs)} --all"
    return Claimed(shown, len(others), command, claims_figure(shown, "claims-forest"))
