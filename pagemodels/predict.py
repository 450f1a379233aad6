"""Prediction: keys in order of arrival into a page model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.pagemodels.contract import BesideTableByDate, PageModel, RepeatsKeys, SizedByValue, TakesPayloads
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import ranked


def predict(
    model: PageModel | SizedByValue,
    column: Column,
    keys: Keys,
    checkpoints: Sequence[int] = (),
    *,
    created: NDArray[np.int64] | None = None,
    lengths: NDArray[np.int64] | None = None,
    parents: NDArray[np.int64] | None = None,
) -> PageStats:
    """Ranks the keys by the order of the column that holds them, and inserts them. Keys are in order of arrival.

    `created`: int64 (n,), when the rows of a table by date were created; None where they arrive in that order.
    `lengths`: int64 (n,), characters of the rows' payloads; None if all are alike.
    `parents`: int64, for each child of a foreign key, in order of arrival, the place of its key among the keys; None
    where those of each key arrive together.
    UsageError where there are no keys, where two are the same, or where the column does not take them or their width.
    """
    if not len(keys):
        raise UsageError("no rows: a prediction needs at least one key.")
    if not column.accepts(keys).all():
        raise UsageError(f"the column {column.name} does not take all of these keys: choose another column.")
    if keys.kind in ("bytes", "text") and keys.data.shape[1] != column.width:
        raise UsageError(
            f"the column {column.name} is for keys of {column.width} bytes, and these have {keys.data.shape[1]}: "
            "give it their width with `sized` first."
        )
    ranks = ranked(sort_words(keys, column.order))
    if created is not None and isinstance(model, BesideTableByDate):
        rows = np.empty(len(ranks), np.int64)
        rows[np.lexsort((ranks, created))] = np.arange(len(ranks))
        model = model.by_date(rows)
    if parents is not None and isinstance(model, RepeatsKeys):
        model = model.interleaved(parents)
    if lengths is not None and isinstance(model, TakesPayloads):
        model = model.with_payloads(lengths)
    if isinstance(model, SizedByValue):
        return model.insert(ranks, checkpoints, sizes=model.sizes(keys))
    return model.insert(ranks, checkpoints)
