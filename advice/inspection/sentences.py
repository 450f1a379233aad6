"""What was found, in plain English."""

from collections.abc import Iterator, Sequence
from typing import Final

from keybench.advice.figure import spoken
from keybench.advice.inspection.findings import IndexFinding, TableFinding, inserted_a_day
from keybench.advice.inspection.mixture import FEWEST
from keybench.advice.inspection.naming import Content, KeyGroup, Switch
from keybench.advice.inspection.new_rows import Where
from keybench.databases.contract.existing import ROWS_HIDDEN, TableHere
from keybench.generators.core.clock import as_datetime
from keybench.model.sizes import digits, spelled

NEARLY_USED_UP: Final = 0.75
"""Share of an integer type's values from which on it is urgent."""
_MOST_NAMED, _WORTH_A_WORD = 3, 0.005  # layouts of a group that are named, the others are counted; share of keys
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
    shown = list(group.layouts[:_MOST_NAMED])
    if more := len(group.layouts) - len(shown):
        shown.append(f"{more} more")
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]


def percent(share: float) -> str:
    """A share, 0 to 1, as text: 99.9 %, 50 %, below 0.1 %. Near 0 and near 100 it has a decimal."""
    if share < 0.0005:
        return "below 0.1 %"
    value = 100 * share
    return f"{value:.0f} %" if 1 <= value < 99.5 or value > 99.95 else f"{value:.1f} %"


def odds(value: float) -> str:
    """A probability, 0 to 1, as text: over 99.9 %, 97.2 %."""
    return "over 99.9 %" if value > 0.999 else f"{digits(100 * value, 3)} %"


def layouts_in_words(content: Content) -> str:
    """The layouts of a column's keys in words: one, or several with the share of each."""
    if not content.sampled:
        return "no keys yet"
    if not content.groups and content.sampled < FEWEST:
        return "keys that are too few to name their layout"
    if not content.groups:
        return "keys of no layout that keybench knows: they look random"
    if len(content.groups) == 1 and content.unknown < _WORTH_A_WORD:
        return names(content.groups[0])
    parts = [f"{percent(one.share)} {names(one)}" for one in content.groups]
    if content.unknown >= _WORTH_A_WORD:
        parts.append(f"{percent(content.unknown)} of no layout that keybench knows")
    return ", ".join(parts)


def _in_words(one: IndexFinding) -> str:
    """The keys of an index in words: of several columns, each in turn."""
    if len(one.index.key) == 1 and one.content:
        return layouts_in_words(one.content)
    parts = []
    for column, content in zip(one.index.key, one.contents, strict=True):
        if content is None or column.form == "number":
            parts.append(column.sql_type or "of a type that keybench does not know")
        else:
            parts.append("values that repeat" if content.repeats else layouts_in_words(content))
    return ", then ".join(parts)


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
    """How the column stores keys if not as the layout says: as 36 characters, in the byte order of .NET; else empty."""
    spelling = f"as {group.spelled}" if group.spelled else ""
    return ", ".join(part for part in (spelling, _ORDERS.get(group.order, "")) if part)


def _key(one: IndexFinding) -> str:
    """The key's role and columns, as the subject of a sentence: `primary key id`."""
    index = one.index
    role = next((name for name in ("primary key", "foreign key") if name in index.roles), "unique key")
    return f"{role} ({', '.join(index.columns)})" if len(index.columns) > 1 else f"{role} {index.columns[0]}"


def headline(one: TableFinding) -> str:
    """The first sentence on a table: what its key is and what it costs."""
    table = one.table
    if one.partition_count:
        return (
            f"{table.full_name} has {one.partition_count} partitions with {rows(table)} in "
            f"{spelled(table.bytes or 0)}: see each of them."
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
            reasons.append(ROWS_HIDDEN if ROWS_HIDDEN in table.rows_from else "no keys were seen")  # if no other
        why = reasons[0].rstrip(".") if reasons else "it has no primary key, unique index or foreign key"
        return f"{table.full_name} has {rows(table)}{size}, and keybench can say nothing of its keys: {why}."
    return f"{table.full_name} has {rows(table)}{size}; its {_key(key)} is {_in_words(key)}{_effect(key)}."


_GO: Final[dict[Where, str]] = {
    "end": "at the end of the index",
    "between": "between older rows",
    "places": "to several places of the index, in order at each",
    "anywhere": "all over the index",
}


def _effect(key: IndexFinding) -> str:
    """Where new rows go in the index and how full it is, as a clause behind a comma; empty if nobody knows."""
    pages, where = key.pages, key.new_rows.where
    about = "" if pages.origin == "measured" else "about "
    full = "" if pages.density is None else f"{about}{pages.density:.0f} % full"
    if where is None:
        return f", and its index is {full}" if full else ""
    text = f", so new rows go {_GO[where]}"
    if where == "between" and pages.halves:
        text += ", where they leave half-empty pages until the index is rebuilt"
    if not full:
        return text
    link = "; the index is" if where in {"between", "places"} else ", which is"
    return f"{text}{link} {full}" + (f" (keys in order fill {pages.full:.0f} %)" if key.gain > 0 else "")


def urgent(one: TableFinding) -> Iterator[str]:
    """What cannot wait: an integer type that is nearly used up, and keys dated ahead. A clause each."""
    for key in one.indexes:
        name, most = f"{one.table.full_name}.{key.column.name}", key.index.key[0].most
        if key.used_up >= NEARLY_USED_UP and key.highest and most:
            left = most - key.highest
            a_day = inserted_a_day(one.table)
            lasts = f", which last {spoken(left / a_day)} days at today's rate" if a_day else ""
            yield f"{name} is at {spoken(key.highest)} of {spoken(most)}: {spoken(left)} keys are left{lasts}"
        if (ahead := key.ahead) and ahead.last is not None:
            yield (
                f"a clock was ahead: {percent(ahead.ahead)} of the {names(ahead)} keys of {name} hold times after "
                f"tomorrow, up to {day(ahead.last)}"
            )


def details(finding: IndexFinding) -> Iterator[str]:
    """All that is known of one key, a sentence each."""
    pages = finding.pages
    if finding.problem:
        yield finding.problem
    if pages.bytes is not None and pages.density is not None:
        error = f" ± {pages.error:.1f}" if pages.error else ""
        order = "" if pages.backward is None else f"; {pages.backward:.0f} % of the leaves lie before their predecessor"
        yield f"{spelled(pages.bytes)}, {pages.density:.1f}{error} % full ({pages.origin}){order}."
    for column, content in zip(finding.index.columns, finding.contents, strict=False):
        if content is not None:
            prefix = f"{column}: " if len(finding.index.key) > 1 else ""
            yield from (prefix + text for text in _of_content(content))
    if finding.pages.missing and finding.index.name:
        yield f"Density: {finding.pages.missing}"
    if finding.index.note:
        yield f"Note: {finding.index.note}."


def _of_content(content: Content) -> Iterator[str]:
    """All that is known of one column's keys, a sentence each."""
    for group in content.groups:
        seen = "" if len(content.groups) == 1 else f" ({percent(group.share)} of the keys)"
        yield f"{names(group)}{seen}, odds {odds(group.odds)}, by {group.keys:,} keys."
        name = group.layouts[0]  # the sentence above names the others, too
        if text := storage_in_words(group):
            yield f"{name} keys are stored {text}."
        if group.first is not None and group.last is not None:
            yield f"{name} keys hold times from {day(group.first)} to {day(group.last)}."
    yield from takeovers(content.switches)
