"""`keybench list layouts`: the layouts to choose from, and in which columns each ascends."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rich.text import Text

from keybench.cli import console, print_json
from keybench.errors import unknown_name
from keybench.generators.commands.ascent import Ascends, Within, ascents
from keybench.generators.commands.columns import BY_NAME, HEADINGS, ORDERS
from keybench.generators.core.layout import Layout, layouts

_CELL: Final = 7
_SYMBOLS: Final[Mapping[Within, str]] = {"strictly": "●", "by time": "◐", "no": "·", "refused": "✗"}

_LEGEND: Final = (
    ("●", "each key is above the one before"),
    ("◐", "each time quantum is above the one before; inside a quantum, keys come in no order"),
    ("¹", "in each process by itself; the keys of several processes do not ascend together"),
    ("·", "in no order"),
    ("✗", "the column refuses some of the keys"),
    ("uuid, text", "PostgreSQL uuid, CHAR(36), bytes in the text's order; any column of keys that are not GUIDs"),
    (".NET bytes", "Oracle RAW(16), BINARY(16) and BLOB as .NET's clients bind a Guid"),
    ("SQL Server", "uniqueidentifier, and binary16-mssql on other servers"),
    ("MySQL swap", "BINARY(16) filled by UUID_TO_BIN(u, 1)"),
    ("Maria uuid", "MariaDB's uuid type"),
)


def print_list(on: str, kind: str, *, as_json: bool = False) -> None:
    """Prints the layouts of that kind which ascend in that column, all if neither is given; UsageError for others."""
    if as_json:
        print_json([layout_record(each) for each in sorted(select(on, kind), key=lambda each: each.name)])
        return
    out = console()
    for line in table(select(on, kind), out.width):
        out.print(line)
    out.print()
    for meaning in _LEGEND:
        for line in entry(*meaning, out.width, 12):
            out.print(line)
    out.print("\n`keybench list layouts NAME` shows one layout in full.")


def select(on: str, kind: str) -> list[Layout]:
    """The layouts to list, without duplicates for their aliases."""
    known = list({each.name: each for each in layouts().values()}.values())
    if on:
        order = BY_NAME.get(on, on)
        if order not in ORDERS:
            raise unknown_name("column", on, {*BY_NAME, *ORDERS})
        known = [
            each
            for each in known
            if (ascends := ascents(each).get(order)) and ascends.within in {"strictly", "by time"}
        ]
    if kind:
        if kind not in (kinds := {each.kind for each in layouts().values()}):
            raise unknown_name("kind", kind, kinds)
        known = [each for each in known if each.kind == kind]
    return known


def layout_record(layout: Layout) -> dict[str, Any]:
    """A layout as the list has it, for `--json` (docs/data.md)."""
    return {
        "name": layout.name,
        "aliases": list(layout.aliases),
        "summary": layout.summary,
        "source": layout.source,
        "kind": layout.kind,
        "width": layout.description.width,
        "order": layout.order,
        "ascends": {
            order: {"within": ascends.within, "across": ascends.across} for order, ascends in ascents(layout).items()
        },
    }


def symbol(ascends: Ascends | None) -> str:
    """How keys ascend in one column, as one symbol; empty where the column does not hold such keys."""
    if ascends is None:
        return ""
    one_process = ascends.within in {"strictly", "by time"} and not ascends.across
    return _SYMBOLS[ascends.within] + ("¹" if one_process else "")


def kind_and_width(layout: Layout) -> str:
    """The kind of the keys, with bits of integers, bytes or characters."""
    width = layout.description.width
    words = {"uuid": "uuid", "int": f"int {width}", "bytes": f"bytes {width // 8}", "text": f"text {width}"}
    return words[layout.kind]


def entry(heading: str, text: str, width: int, indent: int) -> Iterator[Text]:
    """A heading, and beside it its text, wrapped."""
    lines = textwrap.wrap(text, max(30, width - indent)) or [""]
    for number, line in enumerate(lines):
        yield Text((heading if not number else "").ljust(indent), style="bold") + Text(line, style="default not bold")


def table(listed: Iterable[Layout], width: int) -> Iterator[Text]:
    """One line a layout with its facts and summary; in a narrow terminal the summary follows on lines of its own."""
    layouts = sorted(listed, key=lambda layout: layout.name)
    name = max([len(layout.name) for layout in layouts], default=0) + 1
    facts = name + 9 + _CELL * len(ORDERS)
    wide = width >= facts + 45
    for row in (0, 1):
        headings = "".join(HEADINGS[order][row].ljust(_CELL) for order in ORDERS)
        yield Text(" " * name + ("kind" if row else "").ljust(9) + headings, style="bold")
    for layout in layouts:
        ascends = ascents(layout)
        line = Text(layout.name.ljust(name), style="bold cyan")
        line.append(kind_and_width(layout).ljust(9), style="default not bold")
        for order in ORDERS:
            cell = symbol(ascends.get(order))
            line.append(cell.ljust(_CELL), style="green not bold" if cell[:1] in "●◐" else "dim not bold")
        room = width - facts if wide else width - 4
        summary = textwrap.wrap(layout.summary, room)
        if wide:
            line.append(summary[0], style="default not bold")
            summary = summary[1:]
        yield line
        for more in summary:
            yield Text(" " * (facts if wide else 4) + more, style="default" if wide else "dim")
