"""Published claims on a page: those that its runs answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keybench.results.claims import ClaimRow, rows
from keybench.results.store import Run, Store


@dataclass(frozen=True)
class Claimed:
    """The rows that the runs answer, how many claims are left, and the command that shows those."""

    rows: list[ClaimRow]
    others: int
    command: str

    @property
    def modelled(self) -> bool:
        """Whether any row is by a page model."""
        return any(row.modelled for row in self.rows)


def claimed(store: Store, runs: Sequence[Run]) -> Claimed:
    """What these runs say of published claims."""
    ids = [run.id for run in runs]
    found = rows(store, ids)
    shown = [row for row in found if row.database]
    others = {row.claim for row in found} - {row.claim for row in shown}
    return Claimed(shown, len(others), f"python -m results.claims {' '.join(ids)} --all")
