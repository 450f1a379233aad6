"""`keybench list layouts`: the layouts to choose from, and in which columns each ascends; or one layout in full. And
`keybench list make`: keys, one a line.

A layout declares the one order that it was made for. It ascends in others too, if they compare the same bytes first:
HotGuid's seconds come first in two more of them. The tests make keys of every layout and look.
"""

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from rich.text import Text

from keybench.cli import console, print_json
from keybench.errors import unknown_name
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, TICKS_PER_SECOND, SystemClock, iso_text
from keybench.generators.core.description import Ascent, Description, Uniqueness
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, layout, layouts
from keybench.generators.core.process import Process
from keybench.generators.core.single import Key, objects
from keybench.model.byteorder import accepts_all, ascend_alike
from keybench.model.keys import Keys, Kind, Order

ORDERS: Final[Mapping[Order, tuple[str, str, str]]] = {
    "rfc": ("uuid,", "text", "PostgreSQL uuid; CHAR(36), BINARY(16), RAW(16) and BLOB with the bytes of the text"),
    "net": (".NET", "bytes", "RAW(16), BINARY(16) and BLOB with the bytes that .NET's clients bind"),
    "mssql": ("SQL", "Server", "SQL Server uniqueidentifier; binary16-mssql"),
    "mysql-swap": ("MySQL", "swap", "MySQL BINARY(16) filled by UUID_TO_BIN(u, 1)"),
    "mariadb": ("Maria", "uuid", "MariaDB uuid"),
}
"""The heading of each order in the list, in two lines, and the columns that sort by it."""

BY_NAME: Final[Mapping[str, Order]] = {
    "postgresql": "rfc",
    "mysql": "rfc",
    "sqlite": "rfc",
    "text": "rfc",
    "oracle": "net",
    **{order: order for order in ORDERS},
}
"""The order of a column by the name that people use."""

Within = Literal["strictly", "by time", "no", "refused"]
"""`strictly`: each key is above the one before; `by time`: the keys of each time quantum are above those of the one
before; `no`: neither; `refused`: the column refuses some of the keys."""

_WITHIN: Final[Mapping[Ascent, Within]] = {
    "always": "strictly",
    "forward": "strictly",
    "by time": "by time",
    "by block": "by time",
    "no": "no",
}


@dataclass(frozen=True)
class Ascends:
    """How keys ascend in one order: those of one process, and whether those of several processes ascend together."""

    within: Within
    across: bool


@cache
def ascents(layout: Layout) -> Mapping[Order, Ascends]:
    """How keys ascend in each order, for GUIDs; for other kinds in `rfc` alone. MariaDB's `uuid` counts as refusing
    keys unless the fixed bits rule out all that it refuses."""
    return {order: _ascends(layout, order) for order in ORDERS if layout.kind == "uuid" or order == "rfc"}


def _ascends(layout: Layout, order: Order) -> Ascends:
    """How keys of one layout ascend in one order, from what the layout declares."""
    description = layout.description
    if layout.kind == "uuid" and not accepts_all(*description.fixed(), order):
        return Ascends("refused", across=False)
    equal_in_process = description.steady + description.process  # parts in which all keys of a process are equal
    if layout.order == "none" or not _ascend_in_both(layout, order, equal_in_process):
        return Ascends("no", across=False)
    across = description.across != "no" and _ascend_in_both(layout, order, "")  # "": several processes share no part
    return Ascends(_WITHIN[description.within], across)


def _ascend_in_both(layout: Layout, order: Order, equal: str) -> bool:
    """Whether keys that ascend in the layout's own order ascend in `order` too. `equal`: letters of the parts in which
    these keys do not differ."""
    if layout.kind != "uuid":
        return True
    description = layout.description
    bits, random = description.fixed(), description.where(description.random)
    return ascend_alike(layout.order, order, bits, random, description.where(equal))


_CELL: Final = 7  # characters of a column of the list that shows one byte order
_KIND_CELL: Final = 9  # characters of the column with kind and width
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


def print_list(on: str, *, as_json: bool = False) -> None:
    """Prints the layouts that ascend in the column `on`, all if it is empty; UsageError for an unknown column."""
    chosen = sorted(matching(on), key=lambda each: each.name)
    if as_json:
        print_json([layout_record(each) for each in chosen])
        return
    out = console()
    for line in table(chosen, out.width):
        out.print(line)
    out.print()
    for heading, meaning in _LEGEND:
        for line in entry(heading, meaning, out.width, indent=12):
            out.print(line)
    out.print("\n`keybench list layouts NAME` shows one layout in full.")


def matching(on: str) -> list[Layout]:
    """The layouts that ascend in the column `on`, each once; all if it is empty. UsageError for an unknown column."""
    distinct = list({each.name: each for each in layouts().values()}.values())  # without aliases
    if not on:
        return distinct
    if on not in BY_NAME:
        raise unknown_name("column", on, BY_NAME)
    on_column = {each.name: ascents(each).get(BY_NAME[on]) for each in distinct}  # None: no such keys in that column
    return [each for each in distinct if (how := on_column[each.name]) and how.within in {"strictly", "by time"}]


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
    one_process_only = ascends.within in {"strictly", "by time"} and not ascends.across
    return _SYMBOLS[ascends.within] + ("¹" if one_process_only else "")


def kind_and_width(layout: Layout) -> str:
    """The kind of the keys, with bits of integers, bytes or characters."""
    width = layout.description.width
    words = {"uuid": "uuid", "int": f"int {width}", "bytes": f"bytes {width // 8}", "text": f"text {width}"}
    return words[layout.kind]


def entry(heading: str, text: str, width: int, indent: int) -> Iterator[Text]:
    """A heading in `indent` characters and beside it its text, in lines of `width` characters in all, or with 30 of
    text if that is more."""
    lines = textwrap.wrap(text, max(30, width - indent)) or [""]  # an empty text has a line, too
    for number, line in enumerate(lines):
        yield Text(("" if number else heading).ljust(indent), style="bold") + Text(line, style="default not bold")


def table(listed: Sequence[Layout], width: int) -> Iterator[Text]:
    """One line a layout with its facts and summary; in a narrow terminal the summary follows on lines of its own."""
    name_width = max([len(each.name) for each in listed], default=0) + 1
    facts_width = name_width + _KIND_CELL + _CELL * len(ORDERS)  # characters before the summary
    wide = width >= facts_width + 45  # the least room for a summary beside the facts
    indent, style = (facts_width, "default") if wide else (4, "dim")  # of the summary's own lines
    for row in (0, 1):  # the headings have two lines
        headings = "".join(ORDERS[order][row].ljust(_CELL) for order in ORDERS)
        yield Text(" " * name_width + ("kind" if row else "").ljust(_KIND_CELL) + headings, style="bold")
    for each in listed:
        ascends = ascents(each)
        line = Text(each.name.ljust(name_width), style="bold cyan")
        line.append(kind_and_width(each).ljust(_KIND_CELL), style="default not bold")
        for order in ORDERS:
            cell = symbol(ascends.get(order))
            line.append(cell.ljust(_CELL), style="green not bold" if cell[:1] in "●◐" else "dim not bold")
        summary = textwrap.wrap(each.summary, width - indent)
        if wide:
            line.append(summary[0], style="default not bold")
            summary = summary[1:]
        yield line
        for line_text in summary:
            yield Text(" " * indent + line_text, style=style)


_COLUMNS_OF_KIND: Final[Mapping[Kind, str]] = {
    "int": "an integer column",
    "bytes": "a column of bytes",
    "text": "a text column whose collation is binary",
}
_ASCENT: Final[Mapping[Ascent, str]] = {
    "always": "each key is above all before, even when the clock steps back",
    "forward": "each key is above all before while the clock does not step back",
    "by time": "keys of a later quantum are above those of an earlier one; inside a quantum they come in no order",
    "by block": "keys of a later block are above those of an earlier one; inside a block they come in no order",
    "no": "in no order",
}
_UNIQUE: Final[Mapping[Uniqueness, str]] = {
    "random": "by its random bits: any number of threads, processes and machines, with nothing to agree on",
    "process": "by what the key holds of the process; the threads of a process share a generator",
    "machine": "by what the key holds of the machine: one process a machine, or a number for each (`worker`)",
    "worker id": "by a number that somebody gives to each process (`worker`)",
    "plan": "by numbers or names that somebody plans",
}


def print_layout(name: str, *, as_json: bool = False) -> None:
    """Prints one layout; UsageError for an unknown name."""
    chosen = layout(name)
    stream = chosen.stream(Process.current(), SystemClock(), AesEntropy.system())
    sample = key_text(stream.take(1))
    if as_json:
        print_json(layout_record(chosen) | details(chosen) | {"sample": sample})
        return
    out = console()
    for line in lines(chosen, sample, out.width):
        out.print(line)


def details(layout: Layout) -> dict[str, Any]:
    """What the record of one layout has beside `layout_record`."""
    description, time = layout.description, layout.description.time
    return {
        "parts": [
            {"letter": part.letter, "start": part.start, "width": part.width, "value": part.value}
            for part in description.parts
        ],
        "meanings": dict(description.meanings),
        "within": description.within,
        "across": description.across,
        "reads_clock": layout.reads_clock,
        "random_width": description.random_width,
        "uniqueness": description.uniqueness,
        "worker_ids": description.worker_ids,
        "time": {
            "unit": time.unit,
            "first": iso_text(time.first),
            "last": iso_text(time.last),
            "outside": time.outside,
            "resolution_ticks": time.resolution,
            "period_ticks": time.period,
        }
        if time
        else None,
        "caveats": list(description.caveats),
    }


def lines(layout: Layout, sample: str, width: int) -> Iterator[Text]:
    """What the layout is, its bits, its facts, and its caveats; `sample` is one of its keys."""
    description = layout.description
    yield Text(layout.name, style="bold cyan") + Text(f"  {layout.summary}", style="default not bold")
    yield Text("")
    yield Text(description.diagram, style="bold")
    if layout.kind == "uuid":
        digits = digits_of(description)
        yield Text("-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]), style="bold")
    yield Text("")
    for letter, meaning in description.meanings.items():
        yield from entry(letter, meaning, width, indent=4)
    yield Text("")
    for heading, text in _facts(layout, sample):
        yield from entry(heading, text, width, indent=14)
    if description.caveats:
        yield Text("")
        yield Text("Beware", style="bold")
        for caveat in description.caveats:
            yield from entry("-", caveat, width, indent=2)


def _facts(layout: Layout, sample: str) -> Iterator[tuple[str, str]]:
    """(heading, text) of each fact of a layout; `sample` is one of its keys."""
    description, time = layout.description, layout.description.time
    yield "A key", sample
    if layout.aliases:
        yield "Also called", ", ".join(layout.aliases)
    yield "Source", layout.source
    yield "Kind", kind_and_width(layout)
    if time:
        yield "Time", f"{time.unit}, to {duration(time.resolution)}"
        yield "From, to", f"{iso_text(time.first)}, {iso_text(time.last)}; outside: {time.outside}"
        if time.period:
            yield "Starts again", f"every {duration(time.period)}"
    yield "Reads clock", layout.reads_clock
    yield "One process", _ASCENT[description.within]
    yield "Several", _ASCENT[description.across]
    ascends = ascents(layout)
    for order in ORDERS:
        if order in ascends and ascends[order].within in {"strictly", "by time", "refused"}:
            verb = "Refused by" if ascends[order].within == "refused" else "Ascends on"
            columns = ORDERS[order][2]  # those that hold GUIDs
            yield f"{symbol(ascends[order])} {verb}", _COLUMNS_OF_KIND.get(layout.kind, columns)
    if all(one.within in {"no", "refused"} for one in ascends.values()):
        yield "Ascends on", "no column"
    unit = "characters" if layout.kind == "text" else "bits"
    random = description.random_width
    yield "Random", f"{random} {unit}, new for each key" if random else f"no {unit} are new for each key"
    worker_ids = f"; 0 to {description.worker_ids - 1}" if description.worker_ids else ""
    yield "Unique", _UNIQUE[description.uniqueness] + worker_ids


def digits_of(description: Description) -> str:
    """A key's hexadecimal digits: the digit itself where its four bits are fixed, else the letter of its first bit."""
    digits = ""
    for place in range(0, description.width, 4):
        part = next(part for part in description.parts if part.start <= place < part.start + part.width)
        below = part.start + part.width - place - 4  # bits of the part behind this digit; < 0: it ends in the digit
        digits += part.letter if part.value is None or below < 0 else f"{part.value >> below & 0xF:x}"
    return digits


def duration(ticks: int) -> str:
    """A span of time as text: 100 ns, 1 ms, 3.33 ms, 1 s, 60 s, 45.5 days."""
    for unit, name in ((TICKS_PER_DAY, "days"), (TICKS_PER_SECOND, "s"), (TICKS_PER_MS, "ms"), (10, "µs")):
        if ticks >= unit:
            # From 1,000 on, .3g would write an exponent.
            return f"{ticks / unit:,.3g} {name}" if ticks < 1000 * unit else f"{ticks / unit:,.0f} {name}"
    return f"{ticks * 100} ns"


_CHUNK: Final = 16_384  # keys that are made before they are printed


def print_keys(name: str, number: int) -> None:
    """Prints `number` keys of a layout, by this process and the system's clock; UsageError for an unknown name."""
    stream = layout(name).stream(Process.current(), SystemClock(), AesEntropy.system())
    for start in range(0, number, _CHUNK):
        sys.stdout.writelines(f"{_text(key)}\n" for key in objects(stream.take(min(_CHUNK, number - start))))


def key_text(keys: Keys) -> str:
    """The only key as text: a GUID, a number, hexadecimal digits, or itself."""
    (key,) = objects(keys)
    return _text(key)


def _text(key: Key) -> str:
    return key.hex() if isinstance(key, bytes) else str(key)
