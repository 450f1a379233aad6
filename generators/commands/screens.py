"""What the commands print: the list to choose from, one layout in full, the readings of a key."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rich.text import Text

from keybench.generators.commands.ascent import ORDERS, Ascends, Within, ascents
from keybench.generators.commands.readings import Reading
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND
from keybench.generators.core.description import Ascent, Description, Part, Uniqueness
from keybench.generators.core.instants import iso_text
from keybench.generators.core.layout import Layout
from keybench.model.keys import Kind, Order

COLUMNS: Final[Mapping[Order, str]] = {
    "rfc": "PostgreSQL uuid; CHAR(36), BINARY(16), RAW(16) and BLOB with the bytes of the text",
    "net": "RAW(16), BINARY(16) and BLOB with the bytes that .NET's clients bind",
    "mssql": "SQL Server uniqueidentifier; binary16-mssql",
    "mysql-swap": "MySQL BINARY(16) filled by UUID_TO_BIN(u, 1)",
    "mariadb": "MariaDB uuid",
}
"""The columns that sort by each order."""

_HEADS: Final[Mapping[Order, tuple[str, str]]] = {
    "rfc": ("uuid,", "text"),
    "net": (".NET", "bytes"),
    "mssql": ("SQL", "Server"),
    "mysql-swap": ("MySQL", "swap"),
    "mariadb": ("Maria", "uuid"),
}
_SYMBOLS: Final[Mapping[Within, str]] = {"strictly": "●", "by time": "◐", "no": "·", "refused": "✗"}
_CELL: Final = 7

_LEGEND: Final = (
    ("●", "each key is above the one before"),
    ("◐", "so from one quantum of time to the next; inside one, keys come in no order"),
    ("¹", "so in one process alone: the keys of several do not ascend together"),
    ("·", "in no order"),
    ("✗", "the column refuses some of the keys"),
    ("uuid, text", "PostgreSQL uuid, CHAR(36), bytes in the text's order; any column of keys that are no GUIDs"),
    (".NET bytes", "Oracle RAW(16), BINARY(16) and BLOB as .NET's clients bind a Guid"),
    ("SQL Server", "uniqueidentifier, and binary16-mssql on other servers"),
    ("MySQL swap", "BINARY(16) filled by UUID_TO_BIN(u, 1)"),
    ("Maria uuid", "MariaDB's uuid type"),
)
_WORDS: Final[Mapping[Kind, str]] = {
    "int": "an integer column",
    "bytes": "a column of bytes",
    "text": "a text column whose collation is binary",
}

_ASCENT: Final[Mapping[Ascent, str]] = {
    "always": "each key is above all before, even when the clock steps back",
    "forward": "each key is above all before while the clock does not step back",
    "by time": "keys of a later quantum are above those of an earlier; inside one they come in no order",
    "by block": "keys of a later block are above those of an earlier; inside one they come in no order",
    "no": "in no order",
}
_UNIQUE: Final[Mapping[Uniqueness, str]] = {
    "random": "by its random bits: any number of threads, processes and machines, with nothing to agree on",
    "process": "by what it holds of the process; the threads of one share a generator",
    "machine": "by what it holds of the machine: one process a machine, or a number for each (`worker`)",
    "worker id": "by a number that somebody hands out to each process (`worker`)",
    "plan": "by numbers or names that somebody plans",
}


def cell(found: Ascends | None) -> str:
    """How keys ascend in one column, as one sign; empty where the column does not hold such keys."""
    if found is None:
        return ""
    alone = found.within in {"strictly", "by time"} and not found.across
    return _SYMBOLS[found.within] + ("¹" if alone else "")


def size(layout: Layout) -> str:
    """The kind of the keys and their size."""
    width = layout.description.width
    words = {"uuid": "uuid", "int": f"int {width}", "bytes": f"bytes {width // 8}", "text": f"text {width}"}
    return words[layout.kind]


def listed(chosen: Iterable[Layout], width: int) -> Iterator[Text]:
    """The list: a line of facts and the summary of each layout, in one line where the terminal is wide enough."""
    layouts = sorted(chosen, key=lambda layout: layout.name)
    name = max([len(layout.name) for layout in layouts], default=0) + 1
    facts = name + 9 + _CELL * len(ORDERS)
    wide = width >= facts + 45
    for row in (0, 1):
        heads = "".join(_HEADS[order][row].ljust(_CELL) for order in ORDERS)
        yield Text(" " * name + ("kind" if row else "").ljust(9) + heads, style="bold")
    for layout in layouts:
        found = ascents(layout)
        line = Text(layout.name.ljust(name), style="bold cyan")
        line.append(size(layout).ljust(9), style="default not bold")
        for order in ORDERS:
            sign = cell(found.get(order))
            line.append(sign.ljust(_CELL), style="green not bold" if sign[:1] in "●◐" else "dim not bold")
        room = width - facts if wide else width - 4
        summary = textwrap.wrap(layout.summary, room)
        if wide:
            line.append(summary[0], style="default not bold")
            summary = summary[1:]
        yield line
        for more in summary:
            yield Text(" " * (facts if wide else 4) + more, style="default" if wide else "dim")


def legend(width: int) -> Iterator[Text]:
    """What the signs and the heads of the list mean."""
    for sign, meaning in _LEGEND:
        yield from _entry(sign, meaning, width, 12)


def shown(layout: Layout, sample: str, width: int) -> Iterator[Text]:
    """One layout in full: what it is, its bits, its facts, what to beware of."""
    said = layout.description
    yield Text(layout.name, style="bold cyan") + Text(f"  {layout.summary}", style="default not bold")
    yield Text("")
    yield from _diagram(layout)
    yield Text("")
    for letter, meaning in said.meanings.items():
        yield from _entry(letter, meaning, width, 4)
    yield Text("")
    for head, text in _facts(layout, sample):
        yield from _entry(head, text, width, 14)
    if said.caveats:
        yield Text("")
        yield Text("Beware", style="bold")
        for caveat in said.caveats:
            yield from _entry("-", caveat, width, 2)


def _facts(layout: Layout, sample: str) -> Iterator[tuple[str, str]]:
    said, time = layout.description, layout.description.time
    yield "A key", sample
    if layout.aliases:
        yield "Also called", ", ".join(layout.aliases)
    yield "Source", layout.source
    yield "Kind", size(layout)
    if time:
        yield "Time", f"{time.unit}, to {duration(time.resolution)}"
        yield "From, to", f"{iso_text(time.first)}, {iso_text(time.last)}; outside: {time.outside}"
        if time.period:
            yield "Starts again", f"every {duration(time.period)}"
    yield "Reads clock", layout.reads_clock
    yield "One process", _ASCENT[said.within]
    yield "Several", _ASCENT[said.across]
    found = ascents(layout)
    for order in ORDERS:
        if order in found and found[order].within in {"strictly", "by time", "refused"}:
            yield (
                (f"{cell(found[order])} {'Refused by' if found[order].within == 'refused' else 'Ascends on'}"),
                (_WORDS.get(layout.kind, COLUMNS[order])),
            )
    if all(one.within in {"no", "refused"} for one in found.values()):
        yield "Ascends on", "no column"
    unit = "characters" if layout.kind == "text" else "bits"
    yield "Random", f"{said.random_width} {unit}, new for each key" if said.random_width else "nothing for each key"
    yield "Unique", _UNIQUE[said.uniqueness] + (f"; 0 to {said.worker_ids - 1}" if said.worker_ids else "")


def _entry(head: str, text: str, width: int, indent: int) -> Iterator[Text]:
    """A heading and its text, wrapped beside it."""
    lines = textwrap.wrap(text, max(30, width - indent)) or [""]
    for number, line in enumerate(lines):
        yield Text((head if not number else "").ljust(indent), style="bold") + Text(line, style="default not bold")


def _diagram(layout: Layout) -> Iterator[Text]:
    """The bits as in RFC 9562, 32 a line; below, the digits of a GUID. For text: its characters."""
    said = layout.description
    if layout.kind == "text":
        yield Text("".join(part.letter * part.width for part in said.parts), style="bold")
        return
    yield Text(" " + " ".join(str(bit // 10) if bit % 10 == 0 else " " for bit in range(32)), style="dim")
    yield Text(" " + " ".join(str(bit % 10) for bit in range(32)), style="dim")
    border = Text("+" + "-+" * 32, style="dim")
    for start in range(0, said.width, 32):
        yield border
        yield Text("|" + "".join(_boxes(said, start, min(start + 32, said.width))))
    yield border if said.width % 32 == 0 else Text("+" + "-+" * (said.width % 32), style="dim")
    if layout.kind == "uuid":
        digits = digits_of(said)
        groups = [digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]
        yield Text("")
        yield Text("as text:  ", style="dim") + Text("-".join(groups), style="bold")


def _boxes(said: Description, start: int, stop: int) -> Iterator[str]:
    """The boxes of one line: fixed bits as they are, else the letter, with its meaning where there is room."""
    for part in said.parts:
        first, last = max(part.start, start), min(part.start + part.width, stop)
        if first >= last:
            continue
        room = 2 * (last - first) - 1
        if part.value is not None and part.width <= 8:
            bits = f"{part.value:0{part.width}b}"[first - part.start : last - part.start]
            yield " ".join(bits).center(room) + "|"
            continue
        full = f"{part.letter}: {said.meanings[part.letter]}"
        yield (full if len(full) <= room - 2 else part.letter).center(room) + "|"


def digits_of(said: Description) -> str:
    """The hexadecimal digits of a key: a value where all four bits are fixed, else the letter of the first of them."""
    digits = []
    for place in range(0, said.width, 4):
        part = next(part for part in said.parts if part.start <= place < part.start + part.width)
        inside = place + 4 <= part.start + part.width
        digits.append(_digit(part, place) if part.value is not None and inside else part.letter)
    return "".join(digits)


def _digit(part: Part, place: int) -> str:
    shift = part.start + part.width - place - 4
    return f"{(part.value or 0) >> shift & 0xF:x}"


def duration(ticks: int) -> str:
    """A span of time in words: 100 ns, 1 ms, 3.33 ms, 1 s, 60 s, 45.5 days."""
    for unit, name in (
        (86_400 * TICKS_PER_SECOND, "days"),
        (TICKS_PER_SECOND, "s"),
        (TICKS_PER_MS, "ms"),
        (10, "µs"),
    ):
        if ticks >= unit:
            return f"{ticks / unit:,.3g} {name}" if ticks < 1000 * unit else f"{ticks / unit:,.0f} {name}"
    return f"{ticks * 100} ns"


def decoded(key: str, found: Sequence[Reading], width: int, *, everything: bool) -> Iterator[Text]:
    """The readings of one key: likely ones, those that nothing speaks against, and in brief the rest."""
    yield Text(key, style="bold")
    titles = {
        "likely": "It looks like",
        "possible": "Nothing speaks against",
        "unlikely": "Readable, but hardly meant",
        "no": "Ruled out",
    }
    for verdict, title in titles.items():
        group = [one for one in found if one.verdict == verdict]
        if not group or (verdict in {"unlikely", "no"} and not everything):
            continue
        yield Text("")
        yield Text(title, style="bold underline")
        for one in group:
            yield from _reading(one, width)
        if verdict == "likely" and len(group) > 1:
            note = "Several fit, and a key does not say who made it: the smaller the chance, the stronger the case."
            for line in textwrap.wrap(note, width - 2):
                yield Text("  " + line)
    rest = [sum(one.verdict == verdict for one in found) for verdict in ("unlikely", "no")]
    if any(rest) and not everything:
        yield Text("")
        yield Text(
            f"{rest[0]} more would give a time before 1990 or still to come, {rest[1]} are ruled out: --all says why.",
            style="dim",
        )


def _reading(one: Reading, width: int) -> Iterator[Text]:
    line = Text(f"  {one.layout.name.ljust(28)} ", style="cyan")
    line.append(iso_text(one.ticks) if one.ticks is not None else "no time", style="default")
    yield line
    fields = "".join(f"; {name} {value}" for name, value in one.fields.items())
    chance = f" ({odds(one.chance)})" if one.verdict in {"likely", "possible"} else ""
    for more in textwrap.wrap(one.reason + chance + fields, width - 6):
        yield Text("      " + more, style="dim")


def odds(chance: float) -> str:
    """How often a random value would read as well, in round numbers."""
    once = 1 / chance
    digits = max(0, len(f"{once:.0f}") - 2)
    return "any value fits" if once < 1.5 else f"by chance 1 in {round(once / 10**digits) * 10**digits:,}"
