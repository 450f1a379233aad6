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
from keybench.generators.commands.odds import EARLIEST, Fit, alike_chances, earliest, fit, rank, same_bits
from keybench.generators.core.clock import DATETIME_LAST, iso_text
from keybench.generators.core.layout import Decoded, Layout, NothingToRead, layouts
from keybench.model.keys import Bytes, Keys

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


def read(found: Fit, keys: Keys) -> KeyReading:
    """One layout's reading of one key, by how it fits: possible, unlikely or no."""
    layout, description = found.layout, found.layout.description
    if not found.fits[0]:
        return KeyReading(layout, "no", _why_not(layout, keys))
    try:
        decoded = layout.decode(keys)
    except NothingToRead:
        decoded = Decoded()
    verdict: Verdict = "possible" if found.plausible[0] else "unlikely"
    if found.times is not None and verdict == "unlikely":
        near = int(found.times[0])
        where = iso_text(near) if 0 <= near <= DATETIME_LAST else "outside the years 1 to 9999"
        reason = f"its time would be {where}"
    elif found.times is not None:
        since = "1990" if earliest(description) == EARLIEST else "its epoch"
        counter = f"its {description.counts_from_clock} is near a clock's ticks"
        reason = _joined(_what_fits(layout), counter if decoded.ticks is None else f"its time is after {since}")
    elif verdict == "unlikely":
        low = int(keys.data[0]) < 1
        reason = "its keys count from 1" + ("" if low else f" and seldom come to more than {description.counts_to:,}")
    else:
        low_number = "its number is low" if description.counts_to else ""
        reason = _joined(_what_fits(layout), low_number) or "any value can be one"
    return KeyReading(layout, verdict, reason, float(found.chance[0])).with_fields(decoded)


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
