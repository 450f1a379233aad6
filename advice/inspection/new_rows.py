"""Where new rows go in an index: to its end, between older rows, to several places, or anywhere.

Keys of the sample are ranked as the index compares them, column by column, and set against the order in which their
rows arrived (else against the times in them).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from keybench.advice.inspection.families import Floats
from keybench.advice.inspection.naming import Content
from keybench.databases.contract.existing import IndexHere, SampleHere, Values
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys, Order

Where = Literal["end", "between", "places", "anywhere"]

_IN_ORDER, _IN_PLACES = 0.9, 0.8
"""Rank correlation with the order of arrival from which keys count as ascending; share of neighbours in the index that
came one after the other, from which they do in several places. Random keys have 0 and 0.5."""
_NEWEST: Final = 0.02  # share of the rows that stands for the next rows to come
_ABOVE: Final = 0.05  # share of older rows above the newest ones from which on these do not go to the end

Places = NDArray[np.int64]
"""(n,): ranks of the keys as the index compares them; equal keys have equal ranks."""


@dataclass(frozen=True)
class NewRows:
    """Where they go, and what shows it."""

    where: Where | None = None
    """None if nobody knows."""
    ascending: float | None = None
    """Rank correlation of the order of arrival (else of the keys' own time) with the order of the index, -1 to 1; of
    the latest layout's keys alone where it has taken over."""
    ascending_from: str = ""


def new_rows(index: IndexHere, sample: SampleHere, contents: Sequence[Content | None]) -> NewRows:
    """Where new rows go. `contents`: of each column, None for one that keybench does not know."""
    if len(contents) == 1 and contents[0] and contents[0].always and sample.arrival is None:
        return NewRows("end", 1.0, "what the layout says")
    columns = [one for one in contents if one]
    arrival, source = sample.arrival, sample.arrival_from
    if arrival is None:
        times = [one.instants for one in columns if one.instants is not None]
        if not times:
            return NewRows()
        arrival, source = times[-1], "the time in the keys"
    places = _places(index, sample)
    if places is None:
        return NewRows()
    # the rows that show it: of a known arrival and, where a layout has taken over, of that layout alone
    rows = np.isfinite(arrival)
    for latest in (one.latest for one in columns if one.latest is not None):
        rows = rows & latest
    if (count := int(rows.sum())) < 3:  # a table of one or two rows, or too few of many
        return NewRows("end", 1.0, source) if count == len(rows) else NewRows()
    ascending = _rank_correlation(places[rows], arrival[rows])
    if ascending >= _IN_ORDER:
        ahead = any(group.ahead for one in columns for group in one.groups)  # such keys hold the end of the index
        where: Where = "between" if ahead or _above(places, rows, arrival, sample) > _ABOVE else "end"
    else:
        # one column that also gets random keys: they go anywhere, however the others ascend
        mixed = len(columns) == 1 and columns[0].latest is None and len(columns[0].groups) > 1
        random = mixed and any(one.layout.order == "none" and one.share > _ABOVE for one in columns[0].groups)
        where = "places" if not random and _ascends_in_places(places[rows], arrival[rows]) else "anywhere"
    return NewRows(where, ascending, source)


def _places(index: IndexHere, sample: SampleHere) -> Places | None:
    """The ranks of the keys; None if a column has no order."""
    ranks = np.zeros(len(sample.values), np.int64)
    for column, values in zip(index.key, sample.columns, strict=True):
        if values is None:
            return None
        of_column = _ranks(values, column.order)
        # by the columns so far, then by this one: `return_inverse` gives the rank of each among the distinct ones
        ranks = np.unique(ranks * (int(of_column.max(initial=0)) + 1) + of_column, return_inverse=True)[1]
    return ranks


def _ranks(values: Values, order: Order) -> Places:
    """The ranks of one column's values; `order`: in which it compares GUIDs."""
    if isinstance(values, np.ndarray):
        return np.unique(values, return_inverse=True)[1]
    compared: list[Any] = list(values)
    if order != "rfc" and len(values):
        data = np.frombuffer(b"".join(values), np.uint8).reshape(-1, 16)  # type: ignore[arg-type]  # GUIDs
        words = sort_words(Keys(data, "uuid"), order)
        compared = [word.tobytes() for word in words.astype(">u8")]
    rank_of = {value: rank for rank, value in enumerate(sorted(set(compared)))}
    return np.array([rank_of[value] for value in compared], np.int64)


def _above(places: Places, rows: NDArray[np.bool_], arrival: Floats, sample: SampleHere) -> float:
    """The share of all rows that lie above where the newest of `rows` go, 0 to 1."""
    indexes = np.flatnonzero(rows)
    newest = indexes[np.argsort(arrival[indexes], kind="stable")][-max(3, int(_NEWEST * len(indexes))) :]
    weights = np.ones(len(places)) if sample.weights is None else sample.weights
    return float(weights[places > places[newest].max()].sum() / weights.sum())


def _ascends_in_places(places: Places, arrival: Floats) -> bool:
    """Whether rows that are neighbours in the index arrived one after the other, but for a few: several sources, each
    of them in order."""
    steps = np.diff(arrival[np.argsort(places, kind="stable")])
    return float((steps > 0).mean()) >= _IN_PLACES


def _rank_correlation(places: Places, arrival: Floats) -> float:
    """Spearman's rank correlation of the order by `places` with the order of arrival."""
    n = len(arrival)
    by_key, by_arrival = np.empty(n), np.empty(n)
    by_key[np.argsort(places, kind="stable")] = np.arange(n)
    by_arrival[np.argsort(arrival, kind="stable")] = np.arange(n)
    return float(np.corrcoef(by_key, by_arrival)[0, 1])
