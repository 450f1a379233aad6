"""Published claims about key layouts, compared with what runs measured.

`rows(store, run_ids)` gives a `ClaimRow` for each figure of each claim and each database that answers it.
"""

from keybench.results.claims.answers import rows
from keybench.results.claims.row import VERDICTS, ClaimRow, Verdict

__all__ = ["VERDICTS", "ClaimRow", "Verdict", "rows"]
