"""The findings as lines: a summary, the tables that somebody should look at, the healthy ones together."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

from rich.table import Table
from rich.text import Text

from keybench.advice.figure import spoken
from keybench.advice.inspection.advised import Advice
from keybench.advice.inspection.findings import Findings, TableFinding
from keybench.advice.inspection.forecast import Asked, NextIndex
from keybench.advice.inspection.sentences import details, headline, urgent
from keybench.databases.contract.existing import About
from keybench.model.printable import printable
from keybench.model.sizes import spelled

MOST: Final = 5
"""Findings that are shown without --all."""
_KINDS, _NAMES = 6, 8  # kinds of keys, and names of tables, that a line has at most


def promises(about: About, seconds: float, width: int) -> Iterator[str]:
    """Lines that say, before it is done, what will be done to the database and what will not."""
    yield f"{about.title}: nothing is written, and looking ends after {seconds:.0f} s at most, or a statement later."
    for text in (*about.promises, *about.caveats):
        yield from _wrapped(text, width, "  ")


def worth_a_look(findings: Findings) -> list[TableFinding]:
    """The tables whose keys cost something or are in danger: urgent ones first, then those with most to gain."""
    tables = [one for one in findings.tables if not one.partition_count and not one.table.refused]
    chosen = [one for one in tables if any(urgent(one)) or one.is_loose or one.scatters]
    return sorted(chosen, key=lambda one: not any(urgent(one)))  # the others keep their order: by what they gain


def lines(findings: Findings, advice: Mapping[str, Advice], width: int, *, every: bool) -> Iterator[str | Text | Table]:
    """The answer. `advice`: by full name of the table. `every`: all tables, with all that is known of them."""
    to_look_at = worth_a_look(findings)
    shown = list(findings.tables) if every else to_look_at[:MOST]
    for text in _summary(findings, to_look_at, len(shown)):
        yield from _wrapped(text, width, "", "  ")
    for one in shown:
        yield ""
        yield from (Text(line, style="" if i else "bold") for i, line in enumerate(_wrapped(headline(one), width)))
        for each in one.indexes if every else ():
            for text in details(each):
                yield from _wrapped(f"{', '.join(each.index.columns)}: {text}", width, "  ", "    ")
        if reply := advice.get(one.table.full_name):
            yield from _wrapped(reply.text, width, "  ")
            if reply.command:
                yield f"  {reply.command}"
    if not every:
        yield from _others(findings, to_look_at, width)


def _others(findings: Findings, to_look_at: Sequence[TableFinding], width: int) -> Iterator[str]:
    """The names of healthy, silent and refused tables, a paragraph each. Those to look at beyond `MOST` are counted by
    the summary alone."""
    tables = [one for one in findings.tables if not one.partition_count]  # a divided table's partitions stand for it
    refused = [one for one in tables if one.table.refused]
    refused.sort(key=lambda one: "GRANT" not in one.table.refused)  # first what the reader can do something about
    silent = [one for one in tables if one not in refused and one.key is None]
    healthy = [one for one in tables if one not in (*to_look_at, *refused, *silent)]
    yield ""
    for text, group in {"Healthy": healthy, "Empty, or without known keys": silent, "Not looked at": refused}.items():
        if group:
            first = group[0].table  # its reason, if it was refused, stands for all
            why = f" {first.full_name}: {first.refused}" if first.refused else ""
            yield from _wrapped(f"{text}: {_listed([one.table.full_name for one in group])}.{why}", width, "", "  ")


def _summary(findings: Findings, to_look_at: Sequence[TableFinding], shown: int) -> Iterator[str]:
    """Five lines: what is there, the keys by kind, what could be gained, what is urgent, what follows. `shown`: how
    many tables follow."""
    tables = [one for one in findings.tables if not one.partition_count]
    if not tables:
        yield f"{findings.about.title}: there are no tables here that keybench can look at."
        return
    size = sum(one.table.bytes or 0 for one in tables)
    rows = sum(one.table.rows or 0.0 for one in tables)
    late = f"; the time was over before {_listed(findings.not_reached)}" if findings.not_reached else ""
    refused = sum(bool(one.table.refused) for one in tables)
    not_looked_at = f" ({refused} not looked at)" if refused else ""
    count = f"{len(tables)} {'table' if len(tables) == 1 else 'tables'}{not_looked_at}"
    yield f"{findings.about.title}: {count} with about {spoken(rows)} rows in {spelled(size)}{late}."
    kinds = Counter(one.kind for one in tables).most_common()
    listed = [f"{of_kind} {kind}" for kind, of_kind in kinds[:_KINDS]]
    others = sum(of_kind for _, of_kind in kinds[_KINDS:])
    yield f"Keys: {', '.join(listed)}{f', {others} others' if others else ''}."
    gain, splits = sum(one.gain for one in tables), sum(one.splits_a_day or 0.0 for one in tables)
    fewer = f", and {spoken(splits)} page splits a day" if splits >= 1 else ""
    yield f"To gain: {spelled(gain)}{fewer}." if gain >= 1 or fewer else "To gain: nothing."
    dangers = [text for one in tables for text in urgent(one)]
    yield f"Urgent: {'; '.join(dangers) or 'nothing'}."
    if to_look_at:
        here = f", {shown} of them here" if shown < len(to_look_at) else ""
        yield f"{len(to_look_at)} to look at{here}; --all has every table."
    else:
        which = "None of the tables looked at" if refused else "No table"
        yield f"{which} needs a look: --all has the figures of each."


def next_lines(asked: Asked, rows: int, next_indexes: Sequence[NextIndex], width: int) -> Iterator[str | Table]:
    """What the next rows do to an index: a sentence, and a row for each way."""
    table, index = asked.table.table, asked.finding.index
    yield from _wrapped(
        f"{spoken(rows)} more rows in {table.full_name}, from one writer at {spoken(asked.a_day)} a day, and what they "
        f"do to the index {index.name} on {', '.join(index.columns)}:",
        width,
    )
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("  keys", "index", "leaves now", "then", "full now", "then", "splits", "appends"):
        grid.add_column(heading, justify="left" if heading in {"  keys", "index"} else "right")
    for one in next_indexes:
        before, after = one.before, one.after
        grid.add_row(
            f"  {one.layout}", "rebuilt first" if one.rebuilt else "as it is", f"{before.leaf_pages:,}",
            f"{after.leaf_pages:,}", f"{before.density:.1f} %", f"{after.density:.1f} %", f"{one.splits:,}",
            f"{one.appends:,}",
        )  # fmt: skip
    yield grid


def _listed(names: Sequence[str]) -> str:
    """Names with commas; of many the first ones, and how many more there are."""
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")


def _wrapped(text: str, width: int, indent: str = "", later: str | None = None) -> list[str]:
    """Lines of at most that width; `later`: the indent of all but the first, if it is another."""
    later = indent if later is None else later
    return wrap(printable(text), width, initial_indent=indent, subsequent_indent=later, break_on_hyphens=False)
