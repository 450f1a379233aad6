"""Which layouts a key can be: each layout's reading of it, with the reason.

A layout is ruled out if bits that are the same in all its keys differ (its version, for example), or if its `decode`
refuses the key, as the original's reader does. It is unlikely if the time in the key lies before 1990 or in the future,
or if a number is too high for one that counts from 1. The other layouts are possible. They are likely if random values
seldom fit so well (`odds`), and layouts that no bits tell apart are one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from keybench.errors import UsageError
from keybench.generators.commands.odds import EARLIEST, alike_chances, earliest, fit, rank, same_bits
from keybench.generators.core.instants import DATETIME_LAST, iso_text
from keybench.generators.core.layout import Layout, NothingToRead, layouts
from keybench.model.keys import Bytes, Keys

Verdict = Literal["likely", "possible", "unlikely", "no"]

VERDICTS: Final[tuple[Verdict, ...]] = ("likely", "possible", "unlikely", "no")


@dataclass(frozen=True)
class Reading:
    """One layout's reading: the verdict and its reason, and the time (ticks) and other fields in the key.

    `chance` is the share of random values that fit as well.
    """

    layout: Layout
    verdict: Verdict
    reason: str
    chance: float = 1.0
    ticks: int | None = None
    fields: Mapping[str, int] = field(default_factory=dict)


def readings(keys: Keys, now: int) -> list[Reading]:
    """Every layout's reading of one key, the best first; `now` is the current tick."""
    distinct = {known.name: known for known in layouts().values()}
    fitting = [known for known in distinct.values() if known.kind == keys.kind and _has_width(known, keys)]
    every = [read(known, keys, now) for known in fitting]
    ranking = rank([fit(known, keys, now) for known in fitting])
    judged = [
        replace(one, verdict="likely") if likely else one
        for one, likely in zip(every, ranking.likely[:, 0].tolist(), strict=True)
    ]
    places = ranking.place[:, 0].tolist()
    paired = sorted(zip(judged, places, strict=True), key=lambda pair: (VERDICTS.index(pair[0].verdict), pair[1]))
    return [one for one, _ in paired]


def groups(found: Sequence[Reading]) -> list[list[Reading]]:
    """Likely and possible readings, in their order; those that no bits tell apart are together."""
    made: list[list[Reading]] = []
    for one in found:
        if one.verdict not in {"likely", "possible"}:
            continue
        for group in made:
            first = group[0]
            alike = bool(alike_chances(first.chance, one.chance)) and same_bits(first.layout, one.layout)
            if first.verdict == one.verdict and alike:
                group.append(one)
                break
        else:
            made.append([one])
    return made


def _has_width(layout: Layout, keys: Keys) -> bool:
    return keys.kind == "int" or keys.data.shape[1] == layout.description.width // (1 if keys.kind == "text" else 8)


def read(layout: Layout, keys: Keys, now: int) -> Reading:
    """One layout's reading of one key of its kind and width: possible, unlikely or no."""
    description = layout.description
    found = fit(layout, keys, now)
    if not found.fits[0]:
        return Reading(layout, "no", _why_not(layout, keys))
    fixed = _what_fits(layout)
    try:
        decoded = layout.decode(keys)
    except NothingToRead:
        fields, ticks = {}, None
    else:
        fields = {name: int(values[0]) for name, values in decoded.fields.items()}
        ticks = None if decoded.ticks is None else int(decoded.ticks[0])
    chance = float(found.chance[0])
    if found.times is None:
        if not found.plausible[0]:
            return Reading(
                layout, "unlikely", _not_counted(int(keys.data[0]), description.counts_to), chance, None, fields
            )
        low = "its number is low" if description.counts_to else ""
        return Reading(layout, "possible", _joined(fixed, low) or "any value can be one", chance, None, fields)
    near = int(found.times[0])
    if not found.plausible[0]:
        where = iso_text(near) if 0 <= near <= DATETIME_LAST else "outside the years 1 to 9999"
        return Reading(layout, "unlikely", f"its time would be {where}", chance, ticks, fields)
    since = "1990" if earliest(description) == EARLIEST else "its epoch"
    clock = (
        f"its time is after {since}"
        if ticks is not None
        else f"its {description.counts_from_clock} is near a clock's ticks"
    )
    return Reading(layout, "possible", _joined(fixed, clock), chance, ticks, fields)


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _not_counted(number: int, most: int) -> str:
    return "its keys count from 1" if number < 1 else f"its keys count from 1 and seldom come to more than {most:,}"


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
            return _differs(layout, int(wrong.argmax()))
    try:
        layout.decode(keys)
    except NothingToRead:
        return "it holds a character that its keys do not have"
    except UsageError as refused:
        return str(refused)
    return "it holds a character that its keys do not have"


def _bits(keys: Keys) -> Bytes:
    data = keys.data.astype(">i8").view(np.uint8).reshape(1, 8) if keys.kind == "int" else keys.data
    return np.unpackbits(data[0])


def _differs(layout: Layout, bit: int) -> str:
    """The fixed value at that bit, as a reason."""
    description = layout.description
    part = next(part for part in description.parts if part.start <= bit < part.start + part.width)
    value = f"{part.value:x}" if part.width % 4 == 0 else f"{part.value:0{part.width}b}"
    return f"its keys have {value} as {description.meanings[part.letter]}"
