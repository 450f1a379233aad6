"""`keybench list decode`: the keys that a text can stand for, which layouts they can be, and what they hold.

A layout is ruled out if bits that are the same in all its keys differ (its version, for example), or if its `decode`
refuses the key, as the original's reader does. It is unlikely if the time in the key lies before 1990 or in the future,
or if a number is too high for one that counts from 1. The other layouts are possible. They are likely if random values
seldom fit so well (`odds`), and layouts that no bits tell apart are one group.
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
from keybench.generators.commands.make import key_text
from keybench.generators.commands.odds import EARLIEST, STRONG, Fit, alike_chances, earliest, fit, rank, same_bits
from keybench.generators.core.clock import DATETIME_LAST, SystemClock, iso_text
from keybench.generators.core.layout import Decoded, Layout, NothingToRead, layout, layouts
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Bytes, Keys, Order

Verdict = Literal["likely", "possible", "unlikely", "no"]

VERDICTS: Final[tuple[Verdict, ...]] = ("likely", "possible", "unlikely", "no")


@dataclass(frozen=True)
class KeyReading:
    """One layout's reading of a key: the verdict and its reason, and the time (ticks) and other fields in the key.

    `chance` is the share of random values that fit as well.
    """

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
    """Every layout's reading of one key, the best first; `now` is the current tick."""
    distinct = {known.name: known for known in layouts().values()}
    fits = [fit(known, keys, now) for known in distinct.values() if known.kind == keys.kind and _has_width(known, keys)]
    likely, places = (array[:, 0].tolist() for array in rank(fits))
    every = [read(each, keys) for each in fits]
    verdicts = [replace(one, verdict="likely") if sure else one for one, sure in zip(every, likely, strict=True)]
    ranked = sorted(zip(verdicts, places, strict=True), key=lambda pair: (VERDICTS.index(pair[0].verdict), pair[1]))
    return [one for one, _ in ranked]


def groups(ranked: Sequence[KeyReading]) -> list[list[KeyReading]]:
    """Likely and possible readings, in their order; those that no bits tell apart are together."""
    together: list[list[KeyReading]] = []
    for one in ranked:
        if one.verdict not in {"likely", "possible"}:
            continue
        for group in together:
            first = group[0]
            alike = bool(alike_chances(first.chance, one.chance)) and same_bits(first.layout, one.layout)
            if first.verdict == one.verdict and alike:
                group.append(one)
                break
        else:
            together.append([one])
    return together


def _has_width(layout: Layout, keys: Keys) -> bool:
    return keys.kind == "int" or keys.data.shape[1] == layout.key_bytes


def read(one: Fit, keys: Keys) -> KeyReading:
    """One layout's reading of one key, by how it fits: possible, unlikely or no."""
    layout = one.layout
    if not one.fits[0]:  # the arrays of `one` have one element, for this key
        return KeyReading(layout, "no", _why_not(layout, keys))
    try:
        decoded = layout.decode(keys)
    except NothingToRead:
        decoded = Decoded()
    verdict: Verdict = "possible" if one.plausible[0] else "unlikely"
    return KeyReading(layout, verdict, _reason(one, verdict, decoded, keys), float(one.chance[0])).with_fields(decoded)


def _reason(one: Fit, verdict: Verdict, decoded: Decoded, keys: Keys) -> str:
    """Why a key is a possible or an unlikely one of a layout that it fits: by its time, else by its number."""
    layout, description = one.layout, one.layout.description
    if one.times is not None and verdict == "unlikely":
        near = int(one.times[0])
        where = iso_text(near) if 0 <= near <= DATETIME_LAST else "outside the years 1 to 9999"
        return f"its time would be {where}"
    if one.times is not None:
        since = "1990" if earliest(description) == EARLIEST else "its epoch"
        counter = f"its {description.counts_from_clock} is near a clock's ticks"
        return _joined(_what_fits(layout), counter if decoded.ticks is None else f"its time is after {since}")
    if verdict == "unlikely":
        low = int(keys.data[0]) < 1
        return "its keys count from 1" + ("" if low else f" and seldom come to more than {description.counts_to:,}")
    low_number = "its number is low" if description.counts_to else ""
    return _joined(_what_fits(layout), low_number) or "any value can be one"


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _what_fits(layout: Layout) -> str:
    """The fixed bits, or the alphabet, as part of a reason."""
    description = layout.description
    if description.alphabets:
        return "its characters fit"
    fixed = [description.meanings[part.letter] for part in description.parts if part.value is not None]
    return f"{', '.join(dict.fromkeys(fixed))} fit" if fixed else ""


def _why_not(layout: Layout, keys: Keys) -> str:
    """Why a key is ruled out: a fixed bit or a character that differs, or the reader's reason."""
    description = layout.description
    if layout.kind != "text":
        mask, bits = description.fixed()
        if (wrong := mask & (bits != _bits(keys))).any():
            bit = int(wrong.argmax())
            part = next(part for part in description.parts if part.start <= bit < part.start + part.width)
            value = f"{part.value:x}" if part.width % 4 == 0 else f"{part.value:0{part.width}b}"
            return f"its keys have {value} as {description.meanings[part.letter]}"
    try:
        layout.decode(keys)
    except NothingToRead:
        pass
    except UsageError as refused:
        return str(refused)
    return "it holds a character that its keys do not have"


def _bits(keys: Keys) -> Bytes:
    data = keys.data.astype(">i8").view(np.uint8).reshape(1, 8) if keys.kind == "int" else keys.data
    return np.unpackbits(data[0])


_GUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_SHOWN: Final = 80
"""Characters of a text that a message repeats."""

_TITLES: Final = {"likely": "Likely", "possible": "Possible", "unlikely": "Unlikely", "no": "Ruled out"}
_RANDOM: Final = "Random, no structure"
_WEAK: Final = f"No layout fits {STRONG:,} times better than a random value would: none of these is likely."
_ALIKE: Final = "No bits tell these apart."


def parse(text: str, stored: Order = "rfc") -> list[Keys]:
    """The keys, one in each `Keys`, that a text can stand for: a GUID, an integer, bytes in hexadecimal, or itself.

    `stored` is the byte order of a GUID's digits. Raises UsageError for a text that can be no key.
    """
    plain = text.strip()
    digits = plain.lower().removeprefix("urn:uuid:").removeprefix("0x").strip("{}()")
    keys: list[Keys] = []
    if _GUID.fullmatch(digits):
        keys.append(Keys(_unstored(bytes.fromhex(digits.replace("-", "")), stored), "uuid"))
    elif re.fullmatch(r"-?[0-9]{1,19}", plain) and -(1 << 63) <= int(plain) < 1 << 63:
        keys.append(Keys(np.array([int(plain)]), "int"))
    known = {(layout.kind, layout.description.width) for layout in layouts().values()}
    if re.fullmatch(r"([0-9a-f]{2})+", digits) and ("bytes", len(digits) * 4) in known:
        keys.append(Keys(np.frombuffer(bytes.fromhex(digits), np.uint8)[None], "bytes"))
    if re.fullmatch(r"[!-~]+", plain) and ("text", len(plain)) in known:
        keys.append(Keys(np.frombuffer(plain.encode(), np.uint8)[None], "text"))
    if not keys:
        shown = repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text):,} characters)"
        raise UsageError(
            f"{shown} is no key of any layout: a GUID has 32 hexadecimal digits, plain or as 8-4-4-4-12; "
            "`keybench list layouts` shows the lengths of other keys."
        )
    return keys


def _unstored(data: bytes, order: Order) -> Bytes:
    """A GUID's bytes in RFC order, from the bytes that a column of that order stores."""
    if order not in PERMUTATIONS:
        raise UsageError(f"bytes in the order {order!r} cannot be turned back: choose from {', '.join(PERMUTATIONS)}.")
    out = np.empty((1, 16), np.uint8)
    out[0, list(PERMUTATIONS[order])] = np.frombuffer(data, np.uint8)
    return out


def print_readings(key: str, as_layout: str, stored: str, *, everything: bool, as_json: bool = False) -> None:
    """Prints the readings of a key, or that of one layout; UsageError for what is no key, and unknown names."""
    order: Order | None = next((known for known in PERMUTATIONS if known == stored), None)
    if order is None:
        raise unknown_name("order", stored, PERMUTATIONS)
    now = SystemClock().now()
    every = everything or bool(as_layout)
    answers = [
        (keys, [_as(layout(as_layout), keys, now)] if as_layout else readings(keys, now)) for keys in parse(key, order)
    ]
    if as_json:
        print_json([_record(key_text(keys), ranked, everything=every) for keys, ranked in answers])
        return
    out = console()
    for number, (keys, ranked) in enumerate(answers):
        if number:
            out.print()
        for line in lines(key_text(keys), ranked, out.width, everything=every):
            out.print(line)


def _as(known: Layout, keys: Keys, now: int) -> KeyReading:
    """What the layout's reader reads, whether its fixed bits fit or not; UsageError where it refuses the key."""
    decoded = known.decode(keys)
    reading = next((one for one in readings(keys, now) if one.layout == known), read(fit(known, keys, now), keys))
    verdict = "unlikely" if reading.verdict == "no" else reading.verdict
    return replace(reading, verdict=verdict).with_fields(decoded)


def _record(key: str, ranked: Sequence[KeyReading], *, everything: bool) -> dict[str, Any]:
    """The readings of one key for `--json` (docs/data.md); without `everything`, the likely and possible ones."""
    return {
        "key": key,
        "readings": [
            {
                "layout": one.layout.name,
                "verdict": one.verdict,
                "reason": one.reason,
                "chance": one.chance,
                "time": iso_text(one.ticks) if one.ticks is not None else None,
                "fields": dict(one.fields),
            }
            for one in ranked
            if everything or one.verdict in {"likely", "possible"}
        ],
    }


def lines(key: str, ranked: Sequence[KeyReading], width: int, *, everything: bool) -> Iterator[Text]:
    """The readings of one key: likely and possible ones; the others too if `everything`, else how many they are."""
    yield Text(key, style="bold")
    together = groups(ranked)
    if together and together[0][0].verdict == "possible" and len(ranked) > 1:
        if together[0][0].layout.description.structureless:
            yield from _titled(_RANDOM, together[:1], width)
            together = together[1:]
        else:
            yield from (Text(line) for line in ("", *textwrap.wrap(_WEAK, width)))
    for verdict in ("likely", "possible"):
        yield from _titled(_TITLES[verdict], [group for group in together if group[0].verdict == verdict], width)
        if verdict == "likely":
            yield from _beside_random(together, width)
    if everything:
        for verdict in ("unlikely", "no"):
            yield from _titled(_TITLES[verdict], [[one] for one in ranked if one.verdict == verdict], width)
        return
    unlikely, no = [sum(reading.verdict == verdict for reading in ranked) for verdict in ("unlikely", "no")]
    if unlikely or no:
        yield Text("")
        yield Text(f"{unlikely} more are unlikely, {no} are ruled out: --all shows why.", style="dim")


def _beside_random(together: Sequence[Sequence[KeyReading]], width: int) -> Iterator[Text]:
    """How seldom keys that are random but for fixed bits fit as well as the first group, where the key can be one."""
    random = next((group[0] for group in together if group[0].layout.description.structureless), None)
    if random is None or together[0][0].verdict != "likely" or together[0][0] is random:
        return
    often = _round(random.chance / together[0][0].chance)
    sentence = f"Of random keys ({random.layout.name}), 1 in {often} fits as well as the first."
    yield from (Text("  " + line) for line in textwrap.wrap(sentence, width - 2))


def _titled(title: str, listed: Sequence[Sequence[KeyReading]], width: int) -> Iterator[Text]:
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


def _reading(reading: KeyReading, width: int) -> Iterator[Text]:
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
