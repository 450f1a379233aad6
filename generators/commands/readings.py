"""Which layouts a key can be: each layout's reading of it, with the reason.

A layout is ruled out if bits that are the same in all its keys differ (its version, for example), or if its `decode`
refuses the key, as the original's reader does. It is likely if the time in the key lies between 1990 and tomorrow,
unlikely if the time lies elsewhere, and possible if its keys hold no time. Several layouts can be likely: the fewer
random values can be read as well, the stronger the case.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.generators.core.instants import DATETIME_LAST, iso_text
from keybench.generators.core.layout import Layout, NothingToRead, layouts
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Bytes, Keys, Order

Verdict = Literal["likely", "possible", "unlikely", "no"]

_EARLIEST: Final = 627_667_488_000_000_000  # 1990-01-01
_TOMORROW: Final = 86_400 * TICKS_PER_SECOND
_GUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_VERDICTS: Final[tuple[Verdict, ...]] = ("likely", "possible", "unlikely", "no")


@dataclass(frozen=True)
class Reading:
    """One layout's reading: the verdict and its reason, and the time (ticks) and other fields in the key.

    `chance` is about the share of random values that can be read as well.
    """

    layout: Layout
    verdict: Verdict
    reason: str
    chance: float = 1.0
    ticks: int | None = None
    fields: Mapping[str, int] = field(default_factory=dict)


def parse(text: str, stored: Order = "rfc") -> list[Keys]:
    """The keys, one in each `Keys`, that a text can stand for: a GUID, an integer, bytes in hexadecimal, or itself.

    `stored` is the byte order of a GUID's digits. Raises UsageError for a text that can be no key.
    """
    plain = text.strip()
    digits = plain.lower().removeprefix("urn:uuid:").removeprefix("0x").strip("{}()")
    keys: list[Keys] = []
    if _GUID.fullmatch(digits):
        keys.append(Keys(_unstored(bytes.fromhex(digits.replace("-", "")), stored), "uuid"))
    elif re.fullmatch(r"-?\d{1,19}", plain) and -(1 << 63) <= int(plain) < 1 << 63:
        keys.append(Keys(np.array([int(plain)]), "int"))
    known = {(layout.kind, layout.description.width) for layout in layouts().values()}
    if re.fullmatch(r"([0-9a-f]{2})+", digits) and ("bytes", len(digits) * 4) in known:
        keys.append(Keys(np.frombuffer(bytes.fromhex(digits), np.uint8)[None], "bytes"))
    if plain.isascii() and ("text", len(plain)) in known:
        keys.append(Keys(np.frombuffer(plain.encode(), np.uint8)[None], "text"))
    if not keys:
        raise UsageError(
            f"{text!r} is no key of any layout: a GUID has 32 hexadecimal digits, plain or as 8-4-4-4-12; "
            "`keybench generators list` shows the lengths of other keys."
        )
    return keys


def _unstored(data: bytes, order: Order) -> Bytes:
    """A GUID's bytes in RFC order, from the bytes that a column of that order stores."""
    if order not in PERMUTATIONS:
        raise UsageError(f"bytes in the order {order!r} cannot be turned back: choose from {', '.join(PERMUTATIONS)}.")
    out = np.empty((1, 16), np.uint8)
    out[0, list(PERMUTATIONS[order])] = np.frombuffer(data, np.uint8)
    return out


def readings(keys: Keys, now: int) -> list[Reading]:
    """Every layout's reading of one key, the best first; `now` is the current tick."""
    distinct = {known.name: known for known in layouts().values()}
    fitting = [known for known in distinct.values() if known.kind == keys.kind and _fits(known, keys)]
    every = [read(known, keys, now) for known in fitting]
    return sorted(every, key=lambda one: (_VERDICTS.index(one.verdict), one.chance, len(one.fields), one.layout.name))


def _fits(layout: Layout, keys: Keys) -> bool:
    return keys.kind == "int" or keys.data.shape[1] == layout.description.width // (1 if keys.kind == "text" else 8)


def read(layout: Layout, keys: Keys, now: int) -> Reading:
    """One layout's reading of one key of its kind and width."""
    description = layout.description
    mask, bits = description.fixed()
    if mask.any():
        wrong = mask & (bits != _bits(keys))
        if wrong.any():
            return Reading(layout, "no", _differs(layout, int(wrong.argmax())))
    chance = 0.5 ** int(mask.sum())
    parts = [part for part in description.parts if part.value is not None]
    fixed = ", ".join(dict.fromkeys(description.meanings[part.letter] for part in parts))
    fixed = fixed and f"{fixed} fit"
    try:
        decoded = layout.decode(keys)
    except NothingToRead:
        return Reading(layout, "possible", fixed or "any value can be one", chance)
    except UsageError as refused:
        return Reading(layout, "no", str(refused))
    fields = {name: int(values[0]) for name, values in decoded.fields.items()}
    ticks = None if decoded.ticks is None else int(decoded.ticks[0])
    near = ticks if ticks is not None else fields.get(description.counts_from_clock)
    if near is None:
        return Reading(layout, "possible", fixed or "any value can be one", chance, None, fields)
    if not _EARLIEST <= near <= now + _TOMORROW:
        where = iso_text(near) if 0 <= near <= DATETIME_LAST else "outside the years 1 to 9999"
        return Reading(layout, "unlikely", f"its time would be {where}", chance, ticks, fields)
    first, last = (description.time.first, description.time.last) if description.time else (0, (1 << 63) - 1)
    chance *= min(1.0, (now + _TOMORROW - _EARLIEST) / (last - first + 1))
    clock = (
        "its time is after 1990"
        if ticks is not None
        else f"its {description.counts_from_clock} is near a clock's ticks"
    )
    return Reading(layout, "likely", f"{fixed}; {clock}" if fixed else clock, chance, ticks, fields)


def _bits(keys: Keys) -> Bytes:
    if keys.kind == "text":
        raise UsageError("a diagram of characters fixes no bits.")
    data = keys.data.astype(">i8").view(np.uint8).reshape(1, 8) if keys.kind == "int" else keys.data
    return np.unpackbits(data[0])


def _differs(layout: Layout, bit: int) -> str:
    """The fixed value at that bit, as a reason."""
    description = layout.description
    part = next(part for part in description.parts if part.start <= bit < part.start + part.width)
    value = f"{part.value:x}" if part.width % 4 == 0 else f"{part.value:0{part.width}b}"
    return f"its keys have {value} as {description.meanings[part.letter]}"


def key_text(keys: Keys) -> str:
    """A key as text: a GUID, a number, hexadecimal digits, or itself."""
    if keys.kind == "int":
        return str(int(keys.data[0]))
    data = keys.data[0].tobytes()
    if keys.kind == "uuid":
        return str(uuid.UUID(bytes=data))
    text: str = data.decode("ascii", "replace") if keys.kind == "text" else data.hex()
    return text
