"""The section on published claims: those that the runs of a page answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from keybench.results.claims.answers import ClaimRow, answers
from keybench.results.claims.estimate import trial_groups
from keybench.results.report.source import PageSource


@dataclass(frozen=True)
class ClaimsSection:
    """The rows that the runs answer, the number of claims they do not answer, and the command that lists those."""

    rows: list[ClaimRow]
    unanswered: int
    command: str

    @property
    def by_claim(self) -> list[list[ClaimRow]]:
        """The rows of each claim together."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: row.claim)]

    @property
    def modelled(self) -> bool:
        """Whether a page model answers any row."""
        return any(row.modelled for row in self.rows)


def claims_section(sources: Sequence[PageSource]) -> ClaimsSection:
    """What these runs say about published claims."""
    ordered = sorted(sources, key=lambda source: source.run.started)
    rows = answers([group for one in ordered for group in trial_groups(one.run, one.trials, one.environments)])
    shown = [row for row in rows if row.database]
    unanswered = {row.claim for row in rows} - {row.claim for row in shown}
    command = f"keybench compare {' '.join(source.run.id for source in sources)} --claims --all"
    return ClaimsSection(shown, len(unanswered), command)
