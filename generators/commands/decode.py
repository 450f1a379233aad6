"""`keybench list decode`: which layouts a key can be, and what it holds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from rich.text import Text

from keybench.cli import console, print_json
from keybench.errors import unknown_name
from keybench.generators.commands.odds import STRONG
from keybench.generators.commands.readings import Reading, groups, read, readings
from keybench.generators.commands.records import readings_record
from keybench.generators.commands.spellings import key_text, parse
from keybench.generators.core.clock import SystemClock
from keybench.generators.core.instants import iso_text
from keybench.generators.core.layout import Layout, layout
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Keys, Order

_TITLES: Final = {"likely": "Likely", "possible": "Possible", "unlikely": "Unlikely", "no": "Ruled out"}
_RANDOM: Final = "Random, no structure"
_WEAK: Final = f"No layout fits {STRONG:,} times better than a random value would: none of these is likely."
_ALIKE: Final = "No bits tell these apart."


def print_readings(key: str, as_layout: str, stored: str, *, everything: bool, as_json: bool = False) -> None:
    """Prints the readings of a key, or that of one layout; UsageError for what is no key, and unknown names."""
    order: Order | None = next((known for known in PERMUTATIONS if known == stored), None)
    if order is None:
        raise unknown_name("order", stored, PERMUTATIONS)
    now = SystemClock().now()
    every = everything or bool(as_layout)
    read_as = [
        (keys, [_as(layout(as_layout), keys, now)] if as_layout else readings(keys, now)) for keys in parse(key, order)
    ]
    if as_json:
        print_json([readings_record(key_text(keys), found, everything=every) for keys, found in read_as])
        return
    out = console()
    for number, (keys, found) in enumerate(read_as):
        if number:
            out.print()
        for line in lines(key_text(keys), found, out.width, everything=every):
            out.print(line)


def _as(chosen: Layout, keys: Keys, now: int) -> Reading:
    """What the layout's reader reads, whether its fixed bits fit or not; UsageError where it refuses the key."""
    decoded = chosen.decode(keys)
    ticks = None if decoded.ticks is None else int(decoded.ticks[0])
    fields = {name: int(values[0]) for name, values in decoded.fields.items()}
    reading = read(chosen, keys, now)
    judged = next((one for one in readings(keys, now) if one.layout == chosen), reading)
    return replace(judged, verdict="unlikely" if judged.verdict == "no" else judged.verdict, ticks=ticks, fields=fields)


def lines(key: str, found: Sequence[Reading], width: int, *, everything: bool) -> Iterator[Text]:
    """The readings of one key: likely and possible ones; the others too if `everything`, else how many they are."""
    yield Text(key, style="bold")
    made = groups(found)
    if made and made[0][0].verdict == "possible" and len(found) > 1:
        if made[0][0].layout.description.structureless:
            yield from _titled(_RANDOM, made[:1], width)
            made = made[1:]
        else:
            yield Text("")
            for line in textwrap.wrap(_WEAK, width):
                yield Text(line)
    for verdict in ("likely", "possible"):
        yield from _titled(_TITLES[verdict], [group for group in made if group[0].verdict == verdict], width)
        if verdict == "likely":
            yield from _beside_random(made, width)
    for verdict in ("unlikely", "no") if everything else ():
        yield from _titled(_TITLES[verdict], [[one] for one in found if one.verdict == verdict], width)
    unlikely, no = [sum(reading.verdict == verdict for reading in found) for verdict in ("unlikely", "no")]
    if (unlikely or no) and not everything:
        yield Text("")
        hidden = f"{unlikely} more are unlikely, {no} are ruled out: --all shows why."
        yield Text(hidden, style="dim")


def _beside_random(made: Sequence[Sequence[Reading]], width: int) -> Iterator[Text]:
    """How seldom keys that are random but for fixed bits fit as well as the first group, where the key can be one."""
    random = next((group[0] for group in made if group[0].layout.description.structureless), None)
    if random is None or made[0][0].verdict != "likely" or made[0][0] is random:
        return
    often = _round(random.chance / made[0][0].chance)
    for line in textwrap.wrap(
        f"Of random keys ({random.layout.name}), 1 in {often} fits as well as the first.", width - 2
    ):
        yield Text("  " + line)


def _titled(title: str, listed: Sequence[Sequence[Reading]], width: int) -> Iterator[Text]:
    """Groups of readings under a title; nothing if there are none."""
    if not listed:
        return
    yield Text("")
    yield Text(title, style="bold underline")
    for group in listed:
        if len(group) > 1:
            yield Text("  " + _ALIKE)
        for reading in group:
            yield from _reading(reading, width)


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
    return "any value fits" if once < 1.5 else f"by chance 1 in {_round(once)}"


def _round(number: float) -> str:
    """The number with its first two digits."""
    digits = max(0, len(f"{number:.0f}") - 2)
    return f"{round(number / 10**digits) * 10**digits:,}"
