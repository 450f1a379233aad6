"""An nbtree with a past whose rows are read: readers mark the entries of deleted rows that they meet."""

from keybench.errors import UsageError
from keybench.pagemodels.half_split.model import SplitState


class NbtreeState(SplitState):
    """One nbtree with a past."""

    def read(self, *, by_key: bool) -> None:
        """Rows are read: single ones that are there, `by_key`, or others. UsageError where a reader may meet entries of
        deleted rows: it marks them, and a page drops marked entries before it splits (nbtutils.c, _bt_killitems)."""
        if self._deleted and not by_key:
            raise UsageError(
                "readers mark the entries of deleted rows that they meet, and PostgreSQL drops these before a page "
                "splits, which its page model does not follow: reads between a deletion and its cleaning are measured "
                "alone."
            )
