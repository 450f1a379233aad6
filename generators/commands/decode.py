"""`keybench list decode`: the keys that a text can stand for, which layouts they can be, and what they hold.

A layout is possible if the key is plausible as one of its keys (`odds`): it has the bits or characters that all of them
share, the layout's reader takes it, and the time or number in it is one that keys of today can have. A layout is likely
if random values seldom fit so well. Layouts that no bits tell apart are one group.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from rich.text import Text

from keybench.cli import console, print_json
from keybench.errors import UsageError, unknown_name
from keybench.generators.commands.list import key_text
from keybench.generators.commands.odds import EARLIEST, STRONG, Fit, alike_chances, earliest, fit, rank, same_bits
from keybench.generators.core.clock import SystemClock, iso_text
from keybench.generators.core.layout import Decoded, Layout, NothingToRead, layout, layouts
from keybench.model.byteorder import PERMUTATIONS, unstored
from keybench.model.keys import Keys, Order

Verdict = Literal["likely", "possible", "unlikely"]
"""`unlikely` are only keys that are read as a layout which the user names, although they do not fit it."""


@dataclass(frozen=True)
class KeyReading:
    """One layout's reading of a key: the verdict and its reason, and the time (ticks) and other fields in the key.
    `chance` is the share of random values that fit as well."""

    layout: Layout
    verdict: Verdict
    reason: str
    chance: float = 1.0
    ticks: int | None = None
    fields: Mapping[str, int] = field(default_factory=dict)

    def with_fields(self, decoded: Decoded) -> KeyReading:
        """The reading with the time and the fields of one decoded key."""
        ticks = None if decoded.ticks is None else int(decoded.ticks[0])
        return replace(self, ticks=ticks, fields={name: int(values[0]) for name, values in decoded.fields.items()})


def readings(keys: Keys, now: int) -> list[KeyReading]:
    """The readings of one key as each layout that it can be a key of, the best first; `now` is the current tick."""
    distinct = {each.name: each for each in layouts().values()}  # without aliases
    fits = [fit(each, keys, now) for each in distinct.values() if each.kind == keys.kind and _has_width(each, keys)]
    return [_read_fitting(one, keys, "likely" if likely else "possible") for one, likely in rank(fits)]


def groups(ranked: Sequence[KeyReading]) -> list[list[KeyReading]]:
    """The readings in groups of layouts that no bits tell apart. Groups, and the readings in each, keep their order."""
    grouped: list[list[KeyReading]] = []
    for reading in ranked:
        for group in grouped:
            first = group[0]
            alike = alike_chances(first.chance, reading.chance) and same_bits(first.layout, reading.layout)
            if first.verdict == reading.verdict and alike:
                group.append(reading)
                break
        else:  # no group fits it
            grouped.append([reading])
    return grouped


def _has_width(layout: Layout, keys: Keys) -> bool:
    return keys.kind == "int" or keys.data.shape[1] == layout.key_bytes


def _read_fitting(one: Fit, keys: Keys, verdict: Verdict) -> KeyReading:
    """One layout's reading of one key that fits it."""
    try:
        decoded = one.layout.decode(keys)
    except NothingToRead:
        decoded = Decoded()
    return KeyReading(one.layout, verdict, _reason(one, decoded), float(one.chance[0])).with_fields(decoded)


def _reason(one: Fit, decoded: Decoded) -> str:
    """Why a key can be one of the layout: what all its keys share, and its time or its number."""
    description = one.layout.description
    reasons = [_what_fits(one.layout)]
    if one.times is not None and decoded.ticks is None:  # `fit` took the counter for a time
        reasons.append(f"its {description.counts_from_clock} is near a clock's ticks")
    elif one.times is not None:
        since = "1990" if earliest(description) == EARLIEST else "its epoch"
        reasons.append(f"its time is after {since}")
    elif description.counts_to:
        reasons.append("its number is low")
    return "; ".join(filter(None, reasons)) or "any value can be one"


def _what_fits(layout: Layout) -> str:
    """The fixed bits, or the alphabet, as part of a reason."""
    description = layout.description
    if description.alphabets:
        return "its characters fit"
    fixed = [description.meanings[part.letter] for part in description.parts if part.value is not None]
    return f"{', '.join(dict.fromkeys(fixed))} fit" if fixed else ""


_GUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_SHOWN: Final = 80  # characters of a text that a message repeats

_TITLES: Final[Mapping[Verdict, str]] = {"likely": "Likely", "possible": "Possible", "unlikely": "Unlikely"}
_RANDOM: Final = "Random, no structure"
_NONE_LIKELY: Final = f"No layout fits {STRONG:,} times better than a random value would: none of these is likely."
_NONE: Final = "No layout has such keys."
_ALIKE: Final = "No bits tell these apart."


def parse(text: str, stored: Order = "rfc") -> list[Keys]:
    """The keys, one in each `Keys`, that a text can stand for: a GUID, an integer, bytes in hexadecimal, or itself.
    `stored` is the byte order of a GUID's digits. Raises UsageError for a text that can be no key."""
    plain = text.strip()
    digits = plain.lower().removeprefix("urn:uuid:").removeprefix("0x").strip("{}()")
    keys: list[Keys] = []
    if _GUID.fullmatch(digits):
        if stored not in PERMUTATIONS:
            raise UsageError(
                f"bytes in the order {stored!r} cannot be turned back: choose from {', '.join(PERMUTATIONS)}."
            )
        data = np.frombuffer(bytes.fromhex(digits.replace("-", "")), np.uint8)[None]  # one row
        keys.append(Keys(unstored(data, stored), "uuid"))
    elif re.fullmatch(r"-?[0-9]{1,19}", plain) and -(1 << 63) <= int(plain) < 1 << 63:
        keys.append(Keys(np.array([int(plain)]), "int"))
    forms = {(layout.kind, layout.description.width) for layout in layouts().values()}  # bits of bytes, or characters
    if re.fullmatch(r"([0-9a-f]{2})+", digits) and ("bytes", len(digits) * 4) in forms:  # 4 bits a digit
        keys.append(Keys(np.frombuffer(bytes.fromhex(digits), np.uint8)[None], "bytes"))
    if re.fullmatch(r"[!-~]+", plain) and ("text", len(plain)) in forms:
        keys.append(Keys(np.frombuffer(plain.encode(), np.uint8)[None], "text"))
    if not keys:
        shown = repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text):,} characters)"
        raise UsageError(
            f"{shown} is no key of any layout: a GUID has 32 hexadecimal digits, plain or as 8-4-4-4-12; "
            "`keybench list layouts` shows the lengths of other keys."
        )
    return keys


def print_readings(key: str, as_layout: str, stored: str, *, as_json: bool = False) -> None:
    """Prints the readings of a key, or that of one layout; UsageError for what is no key, and unknown names."""
    order: Order | None = next((each for each in PERMUTATIONS if each == stored), None)  # `stored` as an Order
    if order is None:
        raise unknown_name("order", stored, PERMUTATIONS)
    now = SystemClock().now()
    answers = [
        (keys, [_read_as(layout(as_layout), keys, now)] if as_layout else readings(keys, now))
        for keys in parse(key, order)
    ]
    if as_json:
        print_json([_record(key_text(keys), ranked) for keys, ranked in answers])
        return
    out = console()
    for number, (keys, ranked) in enumerate(answers):
        if number:
            out.print()
        for line in lines(key_text(keys), ranked, out.width, compared=not as_layout):
            out.print(line)


def _read_as(layout: Layout, keys: Keys, now: int) -> KeyReading:
    """The key's reading as one layout, `unlikely` if the key does not fit; UsageError where its reader refuses it."""
    decoded = layout.decode(keys)
    unlikely = KeyReading(layout, "unlikely", "its fixed bits, or its time or number, do not fit").with_fields(decoded)
    return next((reading for reading in readings(keys, now) if reading.layout == layout), unlikely)


def _record(key: str, ranked: Sequence[KeyReading]) -> dict[str, Any]:
    """The readings of one key, whose text is `key`, for `--json` (docs/data.md)."""
    return {
        "key": key,
        "readings": [
            {
                "layout": reading.layout.name,
                "verdict": reading.verdict,
                "reason": reading.reason,
                "chance": reading.chance,
                "time": iso_text(reading.ticks) if reading.ticks is not None else None,
                "fields": dict(reading.fields),
            }
            for reading in ranked
        ],
    }


def lines(key: str, ranked: Sequence[KeyReading], width: int, *, compared: bool) -> Iterator[Text]:
    """The readings of one key under the titles of their verdicts. `compared`: they are those of all layouts, the best
    first, and not of one that the user names."""
    yield Text(key, style="bold")
    grouped = groups(ranked)
    if not grouped:
        yield from (Text(line) for line in ("", _NONE))
    elif compared and grouped[0][0].verdict == "possible":  # the best is first: no layout is likely
        if grouped[0][0].layout.description.structureless:
            yield from _titled(_RANDOM, grouped[:1], width)
            grouped = grouped[1:]
        else:
            yield from (Text(line) for line in ("", *textwrap.wrap(_NONE_LIKELY, width)))
    for verdict, title in _TITLES.items():
        yield from _titled(title, [group for group in grouped if group[0].verdict == verdict], width)


def _titled(title: str, under_title: Sequence[Sequence[KeyReading]], width: int) -> Iterator[Text]:
    """Groups of readings under a title; nothing if there are none."""
    if not under_title:
        return
    yield Text("")
    yield Text(title, style="bold underline")
    for group in under_title:
        if len(group) > 1:
            yield Text("  " + _ALIKE)
        for reading in group:
            yield from _reading(reading, width)


def _reading(reading: KeyReading, width: int) -> Iterator[Text]:
    """One reading: layout and time, then the reason, the odds and the other fields."""
    line = Text(f"  {reading.layout.name.ljust(28)} ", style="cyan")
    line.append(iso_text(reading.ticks) if reading.ticks is not None else "no time", style="default")
    yield line
    fields = "".join(f"; {name} {value}" for name, value in reading.fields.items())
    chance = f" ({odds(reading.chance)})" if reading.verdict in {"likely", "possible"} else ""
    for line_text in textwrap.wrap(reading.reason + chance + fields, width - 6):  # 6: the spaces before
        yield Text("      " + line_text, style="dim")


def odds(chance: float) -> str:
    """In how many random values one fits as well, in round numbers: `by chance 1 in 4,300`."""
    values = 1 / chance
    return "any value fits" if values < 1.5 else f"by chance 1 in {_two_digits(values)}"


def _two_digits(number: float) -> str:
    zeros = max(0, len(f"{number:.0f}") - 2)  # digits behind the first two
    return f"{round(number / 10**zeros) * 10**zeros:,}"
