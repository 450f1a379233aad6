"""Looks at a database: which keys it has, how full their indexes are, and what that costs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Final

from keybench.advice.inspection.naming import Content, KeyGroup, content
from keybench.advice.inspection.new_rows import NewRows, new_rows
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.existing import (
    About,
    ColumnHere,
    IndexHere,
    Inspector,
    PagesHere,
    SampleHere,
    TableHere,
)
from keybench.databases.registry import engines
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError, unknown_name
from keybench.model.url import scheme

UNCONFIRMED: Final = (
    "This part of keybench follows the documentation of the database alone and was never run on a live server: check "
    "what it says before you rely on it."
)
_SLACK: Final = 2.0
"""Points of density below that of keys in order that no rebuild would gain: entries leave a rest on each page."""


def engine_of(target: str) -> Engine:
    """The engine that looks at databases with URLs or paths like `target`; of several, the one with the scheme's name.
    UsageError if there is none, EnvironmentMissing if its driver is missing."""
    fitting = {name: on for name, on in engines().items() if on.inspects(target)}
    if not fitting:
        known = sorted(one for on in engines().values() for one in on.url_schemes if on.inspects(f"{one}://"))
        raise UsageError(
            f"keybench looks at no {scheme(target) or 'such'}:// databases: give the path of an SQLite file, or a URL "
            f"that begins with {', '.join(f'{one}://' for one in dict.fromkeys(known))}."
        )
    name = scheme(target) if scheme(target) in fitting else next(iter(fitting))
    on = fitting[name]
    if on.drivers and not any(find_spec(driver) for driver in on.drivers):
        raise EnvironmentMissing(f"{on.title} needs a driver: pip install keybench[{name}].")
    return on


@dataclass(frozen=True, eq=False)
class IndexFinding:
    """One key."""

    index: IndexHere
    contents: tuple[Content | None, ...] = ()
    """Of each column; None for one that keybench cannot read. Empty if no keys could be read: `problem` says why."""
    new_rows: NewRows = field(default_factory=NewRows)
    highest: int | None = None
    """The greatest key, if it is an integer."""
    pages: PagesHere = field(default_factory=PagesHere)
    pages_read: int = 0
    problem: str = ""

    @property
    def content(self) -> Content | None:
        """Of the last column whose keys have a layout, which is the one that tells rows apart; else of the first one
        with keys. None if none has."""
        sampled = [one for one in self.contents if one and one.sampled]
        return next((one for one in reversed(sampled) if one.groups), sampled[0] if sampled else None)

    @property
    def column(self) -> ColumnHere:
        """The column that `content` is of."""
        return self.index.key[self.contents.index(self.content)] if self.content else self.index.key[0]

    @property
    def used_up(self) -> float:
        """The share of its integer type's values below the greatest key, 0 to 1; 0 for keys that do not count up."""
        newest = self.content.newest if self.content else None
        most = self.index.key[0].most
        return self.highest / most if newest and newest.layout.description.counts_to and most and self.highest else 0.0

    @property
    def ahead(self) -> KeyGroup | None:
        """Keys with times after tomorrow."""
        return next((group for one in self.contents if one for group in one.groups if group.ahead), None)

    @property
    def gain(self) -> float:
        """Bytes that the index would save if it were as full as keys in order fill it."""
        size, density = self.pages.bytes, self.pages.density
        if size is None or density is None or density > self.pages.full - _SLACK:
            return 0.0
        return size * (1 - density / self.pages.full)


@dataclass(frozen=True, eq=False)
class TableFinding:
    """One table, or one partition of it."""

    table: TableHere
    indexes: tuple[IndexFinding, ...] = ()
    partition_count: int = 0
    """Partitions that it is the sum of; 0 for tables that are no sums."""

    @property
    def gain(self) -> float:
        """Bytes that all its keys' indexes would save; 0 for an empty table."""
        return sum(one.gain for one in self.indexes) if self.table.rows else 0.0

    @property
    def key(self) -> IndexFinding | None:
        """The primary key, else the first other one, of those whose layouts keybench knows; if it knows none, of those
        whose keys it has seen. None if it has seen none."""
        seen = [one for one in self.indexes if one.content and one.content.sampled]
        known = [one for one in seen if one.content and one.content.groups] or seen
        return next((one for one in known if "primary key" in one.index.roles), known[0] if known else None)

    @property
    def is_loose(self) -> bool:
        """Whether rebuilds would gain more than a tenth of its indexes."""
        return self.gain > sum(one.pages.bytes or 0 for one in self.indexes) / 10

    @property
    def scatters(self) -> bool:
        """Whether new rows go between older ones in any of its indexes."""
        return any(one.new_rows.where in {"anywhere", "between"} for one in self.indexes if self.table.rows)

    @property
    def kind(self) -> str:
        """Its key's layout, `mixed` or `not known`. Fewer than 0.5 % of keys of no layout do not count."""
        known = self.key.content if self.key else None
        if known is None or not known.groups:
            return "not known"
        return known.groups[0].layouts[0] if len(known.groups) == 1 and known.unknown < 0.005 else "mixed"

    @property
    def splits_a_day(self) -> float | None:
        """Splits in the middle of its indexes a day, from the rows inserted a day; None if nobody counts these. In a
        B-tree that grows by keys in no order, each new leaf is a split: one row makes leaves / rows splits."""
        a_day = inserted_a_day(self.table)
        if a_day is None or not self.table.rows:
            return None
        scattered = [one for one in self.indexes if one.new_rows.where == "anywhere" and one.pages.leaf_pages]
        return sum(a_day * (one.pages.leaf_pages or 0.0) / self.table.rows for one in scattered)


@dataclass(frozen=True, eq=False)
class Findings:
    """The database."""

    about: About
    tables: tuple[TableFinding, ...]
    """Those from which most could be gained first."""
    not_reached: tuple[str, ...] = ()
    """Tables that were left out because the time was over."""
    seconds: float = 0.0


def inserted_a_day(table: TableHere) -> float | None:
    """Rows inserted a day since the server's statistics began; None if it counts none or does not say since when."""
    if table.inserted is None or not table.since:
        return None
    begun = datetime.fromisoformat(table.since)
    days = (datetime.now(UTC) - begun).total_seconds() / 86_400
    return table.inserted / days if days > 1 / 24 else None


def selected(tables: Sequence[TableHere], name: str) -> list[TableHere]:
    """The tables to look at: all, or the one of that name with its partitions. UsageError for an unknown name or a
    view, EnvironmentMissing for a table that this user may not read."""
    if not name:
        return [one for one in tables if one.kind in {"table", "partitioned table"}]
    matches = [one for one in tables if name in {one.full_name, one.name}]
    if not matches:
        raise unknown_name("table", name, [one.full_name if "." in name else one.name for one in tables])
    if len({one.schema for one in matches}) > 1:
        raise UsageError(f"there are {' and '.join(one.full_name for one in matches)}: name one with its schema.")
    table = matches[0]
    if table.refused or table.kind in {"view", "other"}:
        problem = f"{table.full_name} cannot be inspected: {table.refused}"
        raise UsageError(problem) if table.kind in {"view", "other"} else EnvironmentMissing(problem)
    return [table, *_below(table, tables)]


def _below(table: TableHere, tables: Sequence[TableHere]) -> list[TableHere]:
    """The partitions of a table, each followed by its own partitions."""
    parts = [one for one in tables if one.part_of == table.full_name]
    return [one for part in parts for one in (part, *_below(part, tables))]


def look(
    inspector: Inspector, name: str, now: int, seconds: float, tell: Callable[[str], None] = lambda _: None
) -> Findings:
    """Looks at all tables, or at the one called `name`, and begins no table after `seconds`; `now`: the current tick.
    `tell` gets the name of each table before it is looked at."""
    began = time.monotonic()
    tables = inspector.tables()
    to_look_at = selected(tables, name)
    findings: list[TableFinding] = []
    late: list[str] = []
    for table in to_look_at:
        if table.kind != "table":
            continue  # a partitioned table is the sum of its partitions, below
        if table.refused:
            findings.append(TableFinding(table))
        elif time.monotonic() - began > seconds:
            late.append(table.full_name)
        else:
            tell(table.full_name)
            findings.append(_of_table(inspector, table, now))
    sums = [_sum(table, findings, tables) for table in to_look_at if table.kind == "partitioned table"]
    order = sorted([*findings, *sums], key=lambda one: (-one.gain, -(one.table.bytes or 0), one.table.full_name))
    return Findings(inspector.about(), tuple(order), tuple(late), time.monotonic() - began)


def _of_table(inspector: Inspector, table: TableHere, now: int) -> TableFinding:
    """What one table shows; if the server refuses, a finding that says so."""
    try:
        known = inspector.details(table)
        indexes = inspector.indexes(known)
    except KeybenchError as error:
        return TableFinding(replace(table, refused=f"the server refused: {error}"))
    return TableFinding(known, tuple(_of_index(inspector, known, index, now) for index in indexes))


def _of_index(inspector: Inspector, table: TableHere, index: IndexHere, now: int) -> IndexFinding:
    """What one key shows: its layouts and its index's pages; if the server refuses, what is known and the problem."""
    sample, problem = SampleHere([]), ""
    contents: tuple[Content | None, ...] = ()
    next_rows = NewRows()
    try:
        if any(column.form not in {None, "number"} for column in index.key):
            sample = inspector.sample(table, index)
            contents = tuple(
                content(replace(sample, values=values), column.form, now)
                if column.form and values is not None
                else None
                for column, values in zip(index.key, sample.columns, strict=True)
            )
            next_rows = new_rows(index, sample, contents)
        elif "may not read" not in index.note:  # else the note is the problem
            problem = f"keybench knows no keys of the type {index.key[0].sql_type or 'of this column'}."
        pages = inspector.pages(table, index, sample)
    except KeybenchError as error:
        return IndexFinding(index, contents, next_rows, sample.highest, problem=str(error))
    pages_read = sample.pages_read + pages.pages_read
    return IndexFinding(index, contents, next_rows, sample.highest, pages, pages_read, problem)


def _sum(table: TableHere, findings: Sequence[TableFinding], tables: Sequence[TableHere]) -> TableFinding:
    """A partitioned table: the sum of its partitions."""
    names = {each.full_name for each in _below(table, tables)}
    parts = [one for one in findings if one.table.full_name in names]
    whole = replace(
        table,
        rows=sum(one.table.rows or 0.0 for one in parts),
        rows_from="the sum of its partitions",
        bytes=sum(one.table.bytes or 0 for one in parts),
        inserted=sum(one.table.inserted or 0 for one in parts),
    )
    return TableFinding(whole, (), len(parts))
