"""`keybench generators decode`: which layouts a key can be, and what it holds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from rich.text import Text

from keybench.errors import unknown_name
from keybench.generators.commands.readings import Reading, key_text, parse, read, readings
from keybench.generators.commands.screen import console
from keybench.generators.core.clock import SystemClock
from keybench.generators.core.instants import iso_text
from keybench.generators.core.layout import Layout, layout
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Keys, Order

_TITLES: Final = {"likely": "Likely", "possible": "Possible", "unlikely": "Unlikely", "no": "Ruled out"}
_SEVERAL: Final = "Several fit, and a key does not name its layout: the smaller the chance, the stronger the case."


def print_readings(key: str, as_layout: str, stored: str, *, everything: bool) -> None:
    """Prints the readings of a key, or that of one layout; UsageError for what is no key, and unknown names."""
    order: Order | None = next((known for known in PERMUTATIONS if known == stored), None)
    if order is None:
        raise unknown_name("order", stored, PERMUTATIONS)
    now = SystemClock().now()
    out = console()
    for number, keys in enumerate(parse(key, order)):
        if number:
            out.print()
        read_as = [_as(layout(as_layout), keys, now)] if as_layout else readings(keys, now)
        for line in lines(key_text(keys), read_as, out.width, everything=everything or bool(as_layout)):
            out.print(line)


def _as(chosen: Layout, keys: Keys, now: int) -> Reading:
    """What the layout's reader reads, whether its fixed bits fit or not; UsageError where it refuses the key."""
    decoded = chosen.decode(keys)
    ticks = None if decoded.ticks is None else int(decoded.ticks[0])
    fields = {name: int(values[0]) for name, values in decoded.fields.items()}
    reading = read(chosen, keys, now)
    return replace(reading, verdict="likely" if reading.verdict == "likely" else "unlikely", ticks=ticks, fields=fields)


def lines(key: str, found: Sequence[Reading], width: int, *, everything: bool) -> Iterator[Text]:
    """The readings of one key: likely and possible ones; the others too if `everything`, else how many they are."""
    yield Text(key, style="bold")
    for verdict, title in _TITLES.items():
        group = [reading for reading in found if reading.verdict == verdict]
        if not group or (verdict in {"unlikely", "no"} and not everything):
            continue
        yield Text("")
        yield Text(title, style="bold underline")
        for reading in group:
            yield from _reading(reading, width)
        if verdict == "likely" and len(group) > 1:
            for line in textwrap.wrap(_SEVERAL, width - 2):
                yield Text("  " + line)
    unlikely, no = [sum(reading.verdict == verdict for reading in found) for verdict in ("unlikely", "no")]
    if (unlikely or no) and not everything:
        yield Text("")
        hidden = f"{unlikely} more would have a time before 1990 or in the future, {no} are ruled out: --all shows why."
        yield Text(hidden, style="dim")


def _reading(reading: Reading, width: int) -> Iterator[Text]:
    line = Text(f"  {reading.layout.name.ljust(28)} ", style="cyan")
    line.append(iso_text(reading.ticks) if reading.ticks is not None else "no time", style="default")
    yield line
    fields = "".join(f"; {name} {value}" for name, value in reading.fields.items())
    chance = f" ({odds(reading.chance)})" if reading.verdict in {"likely", "possible"} else ""
    for more in textwrap.wrap(reading.reason + chance + fields, width - 6):
        yield Text("      " + more, style="dim")


def odds(chance: float) -> str:
    """How often a random value can be read as well, in round numbers."""
    once = 1 / chance
    digits = max(0, len(f"{once:.0f}") - 2)
    return "any value fits" if once < 1.5 else f"by chance 1 in {round(once / 10**digits) * 10**digits:,}"
