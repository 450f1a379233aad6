"""What was found, in plain English."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from keybench.advice.inspection.clocks import Switch
from keybench.advice.inspection.findings import IndexFinding, TableFinding, inserted_a_day
from keybench.advice.inspection.naming import Content, Named
from keybench.databases.contract.existing import TableHere
from keybench.generators.core.instants import as_datetime
from keybench.model.sizes import digits, spelled

_MANY: Final = 3
_ORDERS: Final = {
    "net": "in the byte order of .NET",
    "mysql-swap": "with their time swapped to the front, as UUID_TO_BIN(…, 1) does",
    "mssql": "in SQL Server's order of comparison",
}
_UNITS: Final = ((1e9, "billion"), (1e6, "million"))


def rows(table: TableHere) -> str:
    """The number of rows: 12,345 rows; about 48 million rows."""
    if table.rows is None:
        return "an unknown number of rows"
    about = "" if table.rows_from.startswith("counted") else "about "
    return f"{about}{number(table.rows)} {'row' if table.rows == 1 else 'rows'}"


def number(value: float) -> str:
    """12,345; 48.3 million."""
    for unit, name in _UNITS:
        if value >= unit:
            return f"{digits(value / unit, 3)} {name}"
    return f"{value:,.0f}"


def day(tick: int) -> str:
    """The day of a tick: 2026-03-12."""
    return f"{as_datetime(tick):%Y-%m-%d}"


def names(named: Named) -> str:
    """Layouts that nothing tells apart: uuid-v7 or dotnet-v7; of many the first ones."""
    shown = list(named.layouts[:_MANY])
    if more := len(named.layouts) - len(shown):
        shown.append(f"{more} more")
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]


def percent(share: float) -> str:
    """99.9 %, 50 %, below 0.1 %."""
    if share < 0.0005:
        return "below 0.1 %"
    value = 100 * share
    return f"{value:.0f} %" if (value < 99.5 and value >= 1) or value > 99.95 else f"{value:.1f} %"


def odds(value: float) -> str:
    """A probability."""
    return "over 99.9 %" if value > 0.999 else f"{digits(100 * value, 3)} %"


def what(content: Content) -> str:
    """The layouts of a column: one, or a mixture with its shares and moments."""
    if not content.sampled:
        return "no keys yet"
    if not content.named:
        return "keys of no layout that keybench knows: they look random"
    if len(content.named) == 1 and content.unknown < 0.005:
        return names(content.named[0])
    parts = [f"{percent(one.share)} {names(one)}" for one in content.named]
    if content.unknown >= 0.005:
        parts.append(f"{percent(content.unknown)} of no layout that keybench knows")
    return ", ".join(parts)


def since(switches: Sequence[Switch]) -> Iterator[str]:
    """When one layout took over from another."""
    for one in switches:
        when = f" {day(one.tick)}" if one.tick is not None else " a moment that the keys do not show"
        if one.clean:
            yield f"{one.before} until{when}, {one.after} since."
        elif one.tick is not None:
            yield f"{one.after} since{when}; {one.before} was written before it, and may still be."
        else:
            yield f"{one.before} and {one.after} are written side by side."


def stored(named: Named) -> str:
    """How the bytes lie, if not as the layout says."""
    return ", ".join(part for part in (named.spelled, _ORDERS.get(named.order, "")) if part)


def _key(one: IndexFinding) -> str:
    index = one.index
    role = (
        "primary key"
        if "primary key" in index.roles
        else "foreign key"
        if "foreign key" in index.roles
        else "unique key"
    )
    if len(index.columns) > 1:
        return f"{role} ({', '.join(index.columns)}), of which keybench looks at {index.columns[0]},"
    return f"{role} {index.columns[0]}"


def headline(one: TableFinding) -> str:
    """The first sentence on a table: what its key is and what it costs."""
    table = one.table
    if one.parts:
        return (
            f"{table.full_name} has {one.parts} partitions with {rows(table)} in {spelled(table.bytes or 0)}: "
            "see each of them."
        )
    if table.refused:
        return f"{table.full_name} was not looked at: {table.refused}"
    if table.rows is not None and table.rows < 1:
        return f"{table.full_name} is empty: there are no keys to look at."
    key = one.key
    size = f" in {spelled(table.bytes)}" if table.bytes is not None else ""
    if key is None or key.content is None:
        reasons = [each.problem or each.index.note for each in one.indexes if each.problem or each.index.note]
        why = reasons[0].rstrip(".") if reasons else "it has no primary key, unique index or foreign key"
        return f"{table.full_name} has {rows(table)}{size}, and keybench can say nothing of its keys: {why}."
    return f"{table.full_name} has {rows(table)}{size}; its {_key(key)} is {what(key.content)}{_effect(key)}."


def _effect(key: IndexFinding) -> str:
    pages = key.pages
    full = "" if pages.density is None else f"{'about ' * (pages.origin != 'measured')}{pages.density:.0f} % full"
    if key.ascends is None:
        return f", and its index is {full}" if full else ""
    where = "at the end of the index" if key.ascends else "all over the index"
    text = f", so new rows go {where}"
    if not full:
        return text
    return f"{text}, which is {full}" + (f" (keys in order fill {pages.full:.0f} %)" if key.gain > 0 else "")


def gains(one: TableFinding) -> str:
    """What could be gained, or why nothing is named."""
    if one.gain < 1:
        return ""
    text = f"As full as keys in order fill them, its indexes would be {spelled(one.gain)} smaller"
    splits = one.moved_a_day
    return f"{text}, and about {number(splits)} page splits a day would be appends." if splits else f"{text}."


def details(one: IndexFinding) -> Iterator[str]:
    """All that is known of one key, a sentence each."""
    content = one.content
    if one.problem:
        yield one.problem
    if content is not None:
        for named in content.named:
            seen = "" if len(content.named) == 1 else f" ({percent(named.share)} of the keys)"
            yield f"{names(named)}{seen}, odds {odds(named.odds)}, by {named.keys:,} keys."
            if text := stored(named):
                yield f"{named.layouts[0]} keys are stored {'as ' if named.spelled else ''}{text}."
            if named.first is not None and named.last is not None:
                yield f"{named.layouts[0]} keys hold times from {day(named.first)} to {day(named.last)}."
            yield from _clocks(named)
        yield from since(content.switches)
    if one.pages.missing and one.index.name:
        yield f"Density: {one.pages.missing}"
    if one.index.note:
        yield f"Note: {one.index.note}."


def _clocks(named: Named) -> Iterator[str]:
    fronts, processes = named.clocks.fronts, named.clocks.processes
    if len(fronts) > 1:
        begun = [day(front.first) for front in fronts[:4]]
        yield (
            f"{len(fronts)} counters of it were at work, begun {', '.join(begun)}{' …' * (len(fronts) > 4)}: each "
            "writer starts one, inserts at its own place, and is behind those that started later."
        )
    elif len(fronts) == 1:
        yield f"One counter of it was at work, begun {day(fronts[0].first)}."
    if processes:
        yield f"{processes} {'machine or process' if processes == 1 else 'machines or processes'} made them."


def growth(table: TableHere) -> str:
    """Rows inserted since the statistics began."""
    if table.inserted is None:
        return ""
    a_day = inserted_a_day(table)
    if not table.since or a_day is None:
        return f"{number(table.inserted)} rows were inserted since the server's statistics began."
    return f"{number(table.inserted)} rows were inserted since {table.since[:10]}, about {number(a_day)} a day."


def advise(engine: str, one: TableFinding) -> str:
    """The command that says what to do; empty if there is nothing to ask."""
    key = one.key
    if key is None or key.content is None or not key.content.named or not one.table.rows:
        return ""
    most = key.content.named[0]
    count = f"{one.table.rows:.0f}"
    width = max(0.0, (one.table.row_bytes or 0.0) - most.layout.key_bytes)
    payload = f" --payload {width:.0f}" if one.table.row_bytes else ""
    return f"keybench advise --db {engine} --rows {count} --existing {most.layouts[0]}:{count}{payload}"
