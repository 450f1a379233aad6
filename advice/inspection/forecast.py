"""What the next rows do to an index of a table that exists: its page model goes on from the very pages of the index."""

from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from keybench.advice.inspection.findings import Findings, IndexFinding, TableFinding, inserted_a_day
from keybench.advice.inspection.sentences import headline
from keybench.databases.contract.existing import Allow, Inspector, WholeIndex
from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_DAY, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.model.byteorder import sort_words
from keybench.model.column import Column, EncodedKeys, Form
from keybench.model.keys import Keys, Order
from keybench.pagemodels.contract import BeginsFromPages
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import ranked

ORDERED: Final = "uuid-v7"
"""The layout that GUIDs of today are compared with."""


@dataclass(frozen=True)
class NextIndex:
    """The index after the next rows."""

    layout: str
    """Of their keys."""
    rebuilt: bool
    """Whether the index is rebuilt before they come."""
    before: PageStats
    """When the first of them comes."""
    after: PageStats

    @property
    def splits(self) -> int:
        """Edge and interior splits by these rows."""
        after, before = self.after, self.before
        return after.edge_splits + after.interior_splits - before.edge_splits - before.interior_splits

    @property
    def appends(self) -> int:
        """New pages at the end of the index by these rows."""
        return self.after.appends - self.before.appends


@dataclass(frozen=True)
class Asked:
    """The index whose future is asked for."""

    table: TableFinding
    finding: IndexFinding
    column: Column
    """As the page model needs it."""
    there: WholeIndex  # the index as it is now

    @property
    def a_day(self) -> float:
        """The rows inserted a day; where nobody counts them, as many as would make today's table in a year."""
        return inserted_a_day(self.table.table) or (self.table.table.rows or 365.0) / 365


def ask(findings: Findings, inspector: Inspector, allow: Allow) -> Asked:
    """Reads the index of the key of the one table that was looked at. Errors as of `Inspector.whole`."""
    table = findings.tables[0]
    finding = table.key
    if finding is None or finding.content is None or table.partition_count:
        raise UsageError(f"--next: {headline(table)}")
    column = _column_of(finding)
    return Asked(table, finding, column, inspector.whole(table.table, finding.index, column, allow))


def next_indexes(asked: Asked, rows: int, now: int) -> list[NextIndex]:
    """What the next rows do to the index: with keys of today's layout, and of `ORDERED` where the column takes them;
    as the index is, and rebuilt before. UsageError if its pages are not as a page model knows them."""
    today = asked.finding.content.newest if asked.finding.content else None
    assert today
    others = [ORDERED] if today.layout.kind == "uuid" and ORDERED not in today.layouts else []
    return [
        next_index(asked.there, name, next_keys(asked, name, rows, now), rebuilt=rebuilt)
        for rebuilt, name in product((False, True), (today.layouts[0], *others))
    ]


def next_keys(asked: Asked, name: str, rows: int, now: int) -> EncodedKeys:
    """Keys of that layout as the column stores them, for rows that one writer inserts from `now` on."""
    if layout(name).description.counts_to:  # a counter: on from the greatest key
        return int(asked.there.keys[-1]) + np.arange(1, rows + 1, dtype=np.int64)
    ticks = now + (np.arange(rows) * (TICKS_PER_DAY / asked.a_day)).astype(np.int64)
    stream = layout(name).stream(Process("next", 1), VirtualClock(ticks), AesEntropy.seeded("next", name))
    return asked.column.encode(stream.take(rows))


def _column_of(finding: IndexFinding) -> Column:
    """The index's column. UsageError for keys of no layout, and for those that are stored in several ways."""
    column = finding.column
    groups = finding.content.groups if finding.content else ()
    if len({(one.layout.kind, one.order, one.spelled) for one in groups}) != 1:
        raise UsageError("--next needs keys of layouts that keybench knows, all stored in one way.")
    keys = groups[0]
    if keys.spelled and not keys.spelled.startswith("36 characters in lower"):
        raise UsageError(f"--next does not know keys that are stored as {keys.spelled}.")
    width = 36 if keys.spelled else column.width or keys.layout.key_bytes  # `column.width`: of integers alone
    order: Order = column.order if column.form == "uuid" else keys.order
    form: Form = "int" if column.form == "int" else "text" if column.form == "text" else "bytes"  # a UUID is bytes
    return Column("key", column.sql_type, frozenset({keys.layout.kind}), order, form, width=width)


def next_index(there: WholeIndex, name: str, come: EncodedKeys, *, rebuilt: bool) -> NextIndex:
    """The index after the keys `come` of the layout `name`, in order of arrival and as the column stores them."""
    keys = np.concatenate([there.keys, come])
    ranks = ranked(sort_words(Keys(keys, "int" if keys.ndim == 1 else "bytes"), "rfc"))  # integers have shape (n,)
    old, new = ranks[: len(there.keys)], ranks[len(there.keys) :]
    if (np.diff(old) < 0).any():
        raise UsageError("the index is not in the order of its bytes (a collation?), which no page model knows.")
    state = there.empty(old, new, come)
    assert isinstance(state, BeginsFromPages)
    ascending = np.empty_like(keys)
    ascending[ranks] = keys
    state.begin(old, there.pages, there.pages.border_ranks(ascending))
    if rebuilt:
        state.rebuild(there.fill)
    before = state.stats()
    state.insert(new)
    return NextIndex(name, rebuilt, before, state.stats())
