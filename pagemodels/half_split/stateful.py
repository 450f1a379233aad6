"""Page models whose index can have a past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.contract import IndexState
from keybench.pagemodels.half_split.model import SizedSplitModel, SplitModel
from keybench.pagemodels.half_split.state import Rules, SplitState


@dataclass(frozen=True, kw_only=True)
class StatefulSplitModel(SplitModel):
    """One index whose entries are all of one size; a `KeepsState`."""

    rules: Rules
    kind: type[SplitState] = SplitState
    """What does to an index what the rules say."""

    def state(self, keys: int) -> IndexState:
        """An empty index, into which so many keys will come."""
        return self.kind(self, self.rules, keys)


@dataclass(frozen=True)
class StatefulSizedSplitModel(SizedSplitModel):
    """One index whose entries have the size that they need; a `KeepsSizedState`."""

    model: StatefulSplitModel

    def sized_state(self, sizes: NDArray[np.uint16]) -> IndexState:
        """An empty index, into which entries of these sizes will come, by rank: (keys,)."""
        if len(sizes) and int(sizes.min()) < self.model.leaf.smallest:
            raise UsageError("one size for each row is needed, none below the smallest: make them with `sizes`.")
        return self.model.kind(self.model, self.model.rules, len(sizes), sizes)
