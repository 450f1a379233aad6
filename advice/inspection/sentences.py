"""What was found, in plain English."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from rich.table import Table
from rich.text import Text

from keybench.advice.figure import spoken
from keybench.advice.inspection.findings import Findings, IndexFinding, TableFinding, inserted_a_day
from keybench.advice.inspection.naming import Content, KeyGroup, Switch
from keybench.databases.contract.existing import ROWS_HIDDEN, About, TableHere
from keybench.generators.core.clock import as_datetime
from keybench.model.printable import printable
from keybench.model.sizes import digits, spelled

_MANY: Final = 3
"""Layouts of a group that are named; the others are counted."""
_ORDERS: Final = {
    "net": "in the byte order of .NET",
    "mysql-swap": "with their time swapped to the front, as UUID_TO_BIN(…, 1) does",
    "mssql": "in SQL Server's order of comparison",
}


def rows(table: TableHere) -> str:
    """The number of rows: 12,345 rows; about 48 million rows."""
    if table.rows is None:
        return "an unknown number of rows"
    about = "" if table.rows_from.startswith("counted") else "about "
    return f"{about}{spoken(table.rows)} {'row' if table.rows == 1 else 'rows'}"


def day(tick: int) -> str:
    """The day of a tick: 2026-03-12."""
    return f"{as_datetime(tick):%Y-%m-%d}"


def names(group: KeyGroup) -> str:
    """Layouts that nothing tells apart: uuid-v7 or dotnet-v7; of many the first ones."""
    shown = list(group.layouts[:_MANY])
    if more := len(group.layouts) - len(shown):
        shown.append(f"{more} more")
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]


def percent(share: float) -> str:
    """A share, 0 to 1, as text: 99.9 %, 50 %, below 0.1 %. Near 0 and near 100 it has a decimal."""
    if share < 0.0005:
        return "below 0.1 %"
    value = 100 * share
    return f"{value:.0f} %" if (value < 99.5 and value >= 1) or value > 99.95 else f"{value:.1f} %"


def odds(value: float) -> str:
    """A probability, 0 to 1, as text: over 99.9 %, 97.2 %."""
    return "over 99.9 %" if value > 0.999 else f"{digits(100 * value, 3)} %"


def layouts_in_words(content: Content) -> str:
    """The layouts of a column's keys in words: one, or several with the share of each."""
    if not content.sampled:
        return "no keys yet"
    if not content.groups:
        return "keys of no layout that keybench knows: they look random"
    if len(content.groups) == 1 and content.unknown < 0.005:
        return names(content.groups[0])
    parts = [f"{percent(one.share)} {names(one)}" for one in content.groups]
    if content.unknown >= 0.005:
        parts.append(f"{percent(content.unknown)} of no layout that keybench knows")
    return ", ".join(parts)


def takeovers(switches: Sequence[Switch]) -> Iterator[str]:
    """When one layout took over from another."""
    for one in switches:
        when = f" {day(one.tick)}" if one.tick is not None else " a moment that the keys do not show"
        if one.clean:
            yield f"{one.before} until{when}, {one.after} since."
        elif one.tick is not None:
            yield f"{one.after} since{when}; {one.before} was written before it, and may still be."
        else:
            yield f"{one.before} and {one.after} are written side by side."


def storage_in_words(group: KeyGroup) -> str:
    """How the bytes lie, if not as the layout says: as 36 characters, in the byte order of .NET. Empty if they do."""
    spelling = f"as {group.spelled}" if group.spelled else ""
    return ", ".join(part for part in (spelling, _ORDERS.get(group.order, "")) if part)


def _key(one: IndexFinding) -> str:
    """The key's role and columns, as the subject of a sentence: `primary key id`."""
    index = one.index
    role = next((name for name in ("primary key", "foreign key") if name in index.roles), "unique key")
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
        if one.indexes:
            reasons.append(ROWS_HIDDEN if ROWS_HIDDEN in table.rows_from else "no keys were seen")
        why = reasons[0].rstrip(".") if reasons else "it has no primary key, unique index or foreign key"
        return f"{table.full_name} has {rows(table)}{size}, and keybench can say nothing of its keys: {why}."
    keys = f"{_key(key)} is {layouts_in_words(key.content)}"
    return f"{table.full_name} has {rows(table)}{size}; its {keys}{_effect(key)}."


def _effect(key: IndexFinding) -> str:
    """Where new rows go in the index and how full it is, as a clause behind a comma; empty if nobody knows."""
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
    """What could be gained, in bytes and splits; empty if nothing."""
    if one.gain < 1:
        return ""
    text = f"As full as keys in order fill them, its indexes would be {spelled(one.gain)} smaller"
    splits = one.moved_a_day
    return f"{text}, and about {spoken(splits)} page splits a day would be appends." if splits else f"{text}."


def details(finding: IndexFinding) -> Iterator[str]:
    """All that is known of one key, a sentence each."""
    content = finding.content
    if finding.problem:
        yield finding.problem
    if content is not None:
        for group in content.groups:
            seen = "" if len(content.groups) == 1 else f" ({percent(group.share)} of the keys)"
            yield f"{names(group)}{seen}, odds {odds(group.odds)}, by {group.keys:,} keys."
            name = group.layouts[0]  # the sentence above names the others, too
            if text := storage_in_words(group):
                yield f"{name} keys are stored {text}."
            if group.first is not None and group.last is not None:
                yield f"{name} keys hold times from {day(group.first)} to {day(group.last)}."
        yield from takeovers(content.switches)
    if finding.pages.missing and finding.index.name:
        yield f"Density: {finding.pages.missing}"
    if finding.index.note:
        yield f"Note: {finding.index.note}."


def growth(table: TableHere) -> str:
    """How many rows were inserted since the server's statistics began, as a sentence; empty if it counts none."""
    if table.inserted is None:
        return ""
    a_day = inserted_a_day(table)
    if not table.since or a_day is None:
        return f"{spoken(table.inserted)} rows were inserted since the server's statistics began."
    return f"{spoken(table.inserted)} rows were inserted since {table.since[:10]}, about {spoken(a_day)} a day."


def advise(engine: str, one: TableFinding) -> str:
    """The command that says what to do; empty if there is nothing to ask."""
    key = one.key
    if key is None or key.content is None or not key.content.groups or not one.table.rows:
        return ""
    most = key.content.groups[0]
    count = f"{one.table.rows:.0f}"
    width = max(0.0, (one.table.row_bytes or 0.0) - most.layout.key_bytes)
    payload = f" --payload {width:.0f}" if one.table.row_bytes else ""
    return f"keybench advise --db {engine} --rows {count} --existing {most.layouts[0]}:{count}{payload}"


def promises(about: About, seconds: float, width: int) -> Iterator[str]:
    """Lines that say, before it is done, what will be done to the database and what will not."""
    yield f"{about.title}: nothing is written, and looking ends after {seconds:.0f} s at most, or a statement later."
    for text in (*about.promises, *about.caveats):
        yield from _wrapped(text, width, "  ")


def _wrapped(text: str, width: int, indent: str = "", later: str | None = None) -> list[str]:
    """Lines of at most that width; `later`: the indent of all but the first, if it is another."""
    later = indent if later is None else later
    return wrap(printable(text), width, initial_indent=indent, subsequent_indent=later, break_on_hyphens=False)


def lines(findings: Findings, width: int) -> Iterator[str | Text | Table]:
    """All findings as lines and tables, those of the tables with most to gain first; then commands to go on with."""
    if not findings.tables:
        yield "There are no tables here that keybench can look at."
    for one in findings.tables:
        yield ""
        for place, line in enumerate(_wrapped(headline(one), width)):
            yield Text(line, style="" if place else "bold")
        if one.table.refused or not one.table.rows:
            continue
        for text in filter(None, (gains(one), growth(one.table))):
            yield from _wrapped(text, width, "  ")
        if one.indexes:
            yield _table(one.indexes)
        for each in one.indexes:
            for text in details(each):
                yield from _wrapped(f"{', '.join(each.index.columns)}: {text}", width, "  ", "    ")
    if findings.not_reached:
        late = ", ".join(findings.not_reached)
        yield ""
        yield from _wrapped(f"The time was over before {late}: name one by --table, or give more --seconds.", width)
    commands = [command for one in findings.tables if (command := advise(findings.about.engine, one))]
    if commands:
        yield ""
        yield "To know what to do about each, in this order:"
        yield from (f"  {command}" for command in commands)


def _table(indexes: tuple[IndexFinding, ...]) -> Table:
    """The figures of each index, a row each; a dash for what is not known."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("  key", "keys seen", "size", "density", "in order", "leaves back"):
        table.add_column(heading, overflow="fold")
    for one in indexes:
        content, pages = one.content, one.pages
        table.add_row(
            f"  {', '.join(one.index.columns)}",
            f"{content.sampled:,}" if content else "–",
            "–" if pages.bytes is None else spelled(pages.bytes),
            _density(one),
            {True: "yes", False: "no", None: "–"}[one.ascends],
            "–" if pages.backward is None else f"{pages.backward:.0f} %",
        )
    return table


def _density(one: IndexFinding) -> str:
    """How full the leaves are, with its error and origin unless it was measured; a dash if nobody knows."""
    pages = one.pages
    if pages.density is None:
        return "–"
    if pages.origin == "measured":
        return f"{pages.density:.1f} %"
    error = "" if pages.error is None else f" ± {pages.error:.1f}"
    return f"{pages.density:.1f}{error} % ({pages.origin})"
