"""How well keys fit a layout, and the share of random values that fit as well.

A key fits if the bits that are the same in all keys of the layout (the characters of its alphabet, where keys are text)
are right and the layout's `decode` takes it. It is plausible if the time in it lies between 1990, or the later epoch of
the layout, and tomorrow; without a time, any fitting key is plausible.

The chance of a plausible key is the share of random values, of all values of its width, that would fit with a time at
least as recent. All times of the last year count as equally recent. So it is the product of

- the share of random values with the fixed bits, or with characters of the alphabet only: a random text has the 64
  characters A–Z a–z 0–9 - _, and where both cases are read, all its letters have one case;
- the ticks from the key's time to tomorrow, divided by the ticks that all values of the time's field cover, whether the
  reader takes them or not (`Timestamp.span`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.alphabets import upper_case
from keybench.generators.core.clock import TICKS_PER_DAY
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, KeysRefused, Layout, NothingToRead
from keybench.model.keys import Ints, Keys

EARLIEST: Final = 627_667_488_000_000_000
"""The tick of 1990-01-01: earlier times are unlikely."""

STRONG: Final = 1_200
"""A layout must fit so many times better than random values, and than random GUIDs of version 4, to be likely.

So fewer than one random GUID in a hundred is called something else, and COMBs of the last seven years are likely.
"""

ALIKE: Final = 10
"""Layouts with the same fixed bits whose chances differ by less are not told apart."""

_YEAR: Final = 365 * TICKS_PER_DAY
_TEXT_CHARACTERS: Final = 64
_COUNTER_SPAN: Final = 1 << 64  # the values of a 64-bit counter that started at the clock's ticks


@dataclass(frozen=True, eq=False)
class Fit:
    """How n keys fit one layout."""

    layout: Layout
    fits: NDArray[np.bool_]
    times: Ints | None
    """Ticks of the keys that fit, any number for others; None if the layout's keys hold no time."""
    plausible: NDArray[np.bool_]
    chance: NDArray[np.float64]
    """1 for keys that are not plausible."""


def latest(now: int) -> int:
    """The last plausible tick: tomorrow's."""
    return now + TICKS_PER_DAY


def fit(layout: Layout, keys: Keys, now: int) -> Fit:
    """How keys of the layout's kind and width fit the layout; `now` is the current tick."""
    description = layout.description
    fits = np.logical_not(_wrong(layout, keys).any(axis=1))
    decoded = _decode(layout, keys, fits)  # changes `fits`
    counters = decoded.fields.get(description.counts_from_clock)  # those that started at the clock's ticks
    times = decoded.ticks if counters is None else counters.astype(np.int64)
    plausible: NDArray[np.bool_] = fits.copy()
    chance = np.full(len(keys), fixed_share(layout))
    if times is not None:
        plausible &= (times >= earliest(description)) & (times <= latest(now))
        chance *= time_share(description, times, now)
    if description.counts_to:  # integers that count from 1
        numbers = np.asarray(keys.data, np.int64)
        plausible &= (numbers > 0) & (numbers <= description.counts_to)
        chance *= description.counts_to / 2.0**description.width
    return Fit(layout, fits, times, plausible, np.where(plausible, np.minimum(chance, 1.0), 1.0))


def earliest(description: Description) -> int:
    """The first plausible tick: 1990, or the layout's epoch if it is later."""
    return max(EARLIEST, description.time.first) if description.time else EARLIEST


def time_share(description: Description, times: Ints, now: int) -> NDArray[np.float64]:
    """The share of random values of the time's field whose time is plausible and at least as recent."""
    covered = description.time.covered if description.time else _COUNTER_SPAN
    # All times of the last year count as if they were a year ago.
    since = np.clip(times, earliest(description), max(earliest(description), now - _YEAR))
    return (latest(now) - since).astype(np.float64) / covered


def fixed_share(layout: Layout) -> float:
    """The share of random values that have the layout's fixed bits, or only characters of its alphabet."""
    description = layout.description
    if layout.kind != "text":
        fixed, _ = description.fixed()
        return 0.5 ** int(fixed.sum())
    if not description.alphabets:
        return 1.0
    sizes = [(len(description.alphabets[part.letter]), part.width) for part in description.parts]
    share = float(np.prod([(size / _TEXT_CHARACTERS) ** width for size, width in sizes]))
    return 2 * share if description.any_case else share  # all letters in upper case, or all in lower case


def same_bits(one: Layout, other: Layout) -> bool:
    """Whether the fixed bits of two layouts, or their alphabets, are the same."""
    ours, theirs = one.description, other.description
    if one.kind == "text":  # the alphabet of each character
        return [ours.alphabets.get(part.letter, "") for part in ours.parts for _ in range(part.width)] == [
            theirs.alphabets.get(part.letter, "") for part in theirs.parts for _ in range(part.width)
        ]
    return all(np.array_equal(a, b) for a, b in zip(ours.fixed(), theirs.fixed(), strict=True))


def rank(fits: Sequence[Fit], at: int = 0) -> list[tuple[Fit, bool]]:
    """The layouts that key number `at` can be of, the best first, and of each whether it is likely.

    A layout is likely if its chance is at most 1/`STRONG` of that of the best other layout without structure (such as
    random GUIDs of version 4, which nearly all keys of that form are), or of 1 where none fits. Likely layouts come
    first, then those without structure, then the others, each by chance.
    """
    plausible = [one for one in fits if one.plausible[at]]
    structureless = [one for one in plausible if one.layout.description.structureless]
    ranked: list[tuple[int, float, str, Fit, bool]] = []
    for one in plausible:
        chance = float(one.chance[at])
        others_chance = min((float(other.chance[at]) for other in structureless if other is not one), default=1.0)
        likely = chance * STRONG <= others_chance
        group = 0 if likely else 1 if one in structureless else 2  # the order of the docstring
        ranked.append((group, chance, one.layout.name, one, likely))
    return [(one, likely) for *_, one, likely in sorted(ranked, key=lambda entry: entry[:3])]  # by group, chance, name


def alike_chances(one: float, other: float) -> bool:
    """Whether two chances are so near that bits do not tell them apart: neither is `ALIKE` times the other or more."""
    return one < ALIKE * other and other < ALIKE * one


def _wrong(layout: Layout, keys: Keys) -> NDArray[np.bool_]:
    """Where keys have other bits than the fixed ones, or characters outside of the alphabet: bool (n, bytes of a key),
    or a single column if no bit is fixed."""
    description = layout.description
    if keys.kind == "text":
        data = (upper_case(keys) if description.any_case else keys).data
        wrong = np.zeros(data.shape, np.bool_)
        for part in description.parts:
            if part.letter in description.alphabets:
                alphabet = np.frombuffer(description.alphabets[part.letter].encode(), np.uint8)
                place = slice(part.start, part.start + part.width)
                wrong[:, place] = ~np.isin(data[:, place], alphabet)
        return wrong
    mask, bits = description.fixed()
    data = keys.data.astype(">i8").view(np.uint8).reshape(-1, 8) if keys.kind == "int" else keys.data
    if not mask.any():
        return np.zeros((len(keys), 1), np.bool_)  # nothing can be wrong
    wrong_bytes: NDArray[np.bool_] = ((data ^ np.packbits(bits)) & np.packbits(mask)).astype(np.bool_)
    return wrong_bytes


def _decode(layout: Layout, keys: Keys, fits: NDArray[np.bool_]) -> Decoded:
    """What the layout's reader reads from the keys that `fits` marks; other keys get 0. Unmarks those that it refuses.
    Nothing if no key is left, or the layout's keys hold nothing that can be read."""
    while fits.any():  # again without those that it refused, until it refuses none
        rows = np.flatnonzero(fits)
        try:
            decoded = layout.decode(keys[rows])
        except NothingToRead:
            break
        except KeysRefused as refusal:
            fits[rows[refusal.refused]] = False
            continue
        except UsageError:  # it does not say which keys it refuses
            if len(rows) > 1:
                raise
            fits[:] = False
            break
        ticks = None if decoded.ticks is None else _spread(decoded.ticks, rows, len(keys))
        fields = {name: _spread(np.asarray(values), rows, len(keys)) for name, values in decoded.fields.items()}
        return Decoded(ticks, fields)
    return Decoded()


def _spread(values: NDArray[Any], rows: NDArray[np.intp], n: int) -> NDArray[Any]:
    """n values: these at the indices `rows`, 0 elsewhere."""
    spread = np.zeros(n, np.int64)
    spread[rows] = values
    return spread
