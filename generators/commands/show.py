"""`keybench list layouts NAME`: one layout in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.text import Text

from keybench.cli import console, print_json
from keybench.generators.commands.ascent import ascents
from keybench.generators.commands.columns import DESCRIPTIONS, ORDERS
from keybench.generators.commands.list import entry, kind_and_width, layout_record, symbol
from keybench.generators.commands.make import key_text
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, TICKS_PER_SECOND, SystemClock, iso_text
from keybench.generators.core.description import Ascent, Description, Part, Uniqueness
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, layout
from keybench.generators.core.process import Process
from keybench.model.keys import Kind

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
    known = layout(name)
    stream = known.stream(Process.current(), SystemClock(), AesEntropy.system())
    sample = key_text(stream.take(1))
    if as_json:
        print_json(layout_record(known) | details(known) | {"sample": sample})
        return
    out = console()
    for line in lines(known, sample, out.width):
        out.print(line)


def details(layout: Layout) -> dict[str, Any]:
    """What `show` adds."""
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
    """What the layout is, its bits, its facts, and its caveats."""
    description = layout.description
    yield Text(layout.name, style="bold cyan") + Text(f"  {layout.summary}", style="default not bold")
    yield Text("")
    yield from _diagram(layout)
    yield Text("")
    for letter, meaning in description.meanings.items():
        yield from entry(letter, meaning, width, 4)
    yield Text("")
    for heading, text in _facts(layout, sample):
        yield from entry(heading, text, width, 14)
    if description.caveats:
        yield Text("")
        yield Text("Beware", style="bold")
        for caveat in description.caveats:
            yield from entry("-", caveat, width, 2)


def _facts(layout: Layout, sample: str) -> Iterator[tuple[str, str]]:
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
            yield f"{symbol(ascends[order])} {verb}", _COLUMNS_OF_KIND.get(layout.kind, DESCRIPTIONS[order])
    if all(one.within in {"no", "refused"} for one in ascends.values()):
        yield "Ascends on", "no column"
    unit = "characters" if layout.kind == "text" else "bits"
    random = description.random_width
    yield "Random", f"{random} {unit}, new for each key" if random else f"no {unit} are new for each key"
    last = f"; 0 to {description.worker_ids - 1}" if description.worker_ids else ""
    yield "Unique", _UNIQUE[description.uniqueness] + last


def _diagram(layout: Layout) -> Iterator[Text]:
    """The bits as in RFC 9562, 32 a line, then the digits of a GUID. For text: its characters."""
    description = layout.description
    if layout.kind == "text":
        yield Text("".join(part.letter * part.width for part in description.parts), style="bold")
        return
    yield Text(" " + " ".join(str(bit // 10) if bit % 10 == 0 else " " for bit in range(32)), style="dim")
    yield Text(" " + " ".join(str(bit % 10) for bit in range(32)), style="dim")
    border = Text("+" + "-+" * 32, style="dim")
    for start in range(0, description.width, 32):
        yield border
        yield Text("|" + "".join(_boxes(description, start, min(start + 32, description.width))))
    yield border if description.width % 32 == 0 else Text("+" + "-+" * (description.width % 32), style="dim")
    if layout.kind == "uuid":
        digits = digits_of(description)
        groups = [digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]
        yield Text("")
        yield Text("as text:  ", style="dim") + Text("-".join(groups), style="bold")


def _boxes(description: Description, start: int, stop: int) -> Iterator[str]:
    """The boxes of one line: fixed bits as they are, else the letter, with its meaning where there is room."""
    for part in description.parts:
        first, last = max(part.start, start), min(part.start + part.width, stop)
        if first >= last:
            continue
        room = 2 * (last - first) - 1
        if part.value is not None and part.width <= 8:
            bits = f"{part.value:0{part.width}b}"[first - part.start : last - part.start]
            yield " ".join(bits).center(room) + "|"
            continue
        full = f"{part.letter}: {description.meanings[part.letter]}"
        yield (full if len(full) <= room - 2 else part.letter).center(room) + "|"


def digits_of(description: Description) -> str:
    """The hexadecimal digits of a key: the value where all four bits are fixed, else the letter of the first bit."""
    digits = []
    for place in range(0, description.width, 4):
        part = next(part for part in description.parts if part.start <= place < part.start + part.width)
        inside = place + 4 <= part.start + part.width
        digits.append(_digit(part, place) if part.value is not None and inside else part.letter)
    return "".join(digits)


def _digit(part: Part, place: int) -> str:
    shift = part.start + part.width - place - 4
    return f"{(part.value or 0) >> shift & 0xF:x}"


def duration(ticks: int) -> str:
    """A span of time as text: 100 ns, 1 ms, 3.33 ms, 1 s, 60 s, 45.5 days."""
    for unit, name in ((TICKS_PER_DAY, "days"), (TICKS_PER_SECOND, "s"), (TICKS_PER_MS, "ms"), (10, "µs")):
        if ticks >= unit:
            return f"{ticks / unit:,.3g} {name}" if ticks < 1000 * unit else f"{ticks / unit:,.0f} {name}"
    return f"{ticks * 100} ns"
