"""Where keys of a clustered index lie, found by the optimizer's estimates of ranges (two dives into the index each).

A row cannot be chosen by its place in InnoDB, only by its key. Keys are not spread evenly over all possible ones: half
of a table may lie in a millionth of them. So the range from the least to the greatest key is halved again and again
where the server estimates most rows, until no part has many; then each part is met in proportion to its rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from keybench.model.byteorder import stored
from keybench.model.keys import Keys

PARTS: Final = 200
_SWAPPED: Final = (*range(10, 16), 8, 9, 6, 7, 4, 5, 0, 1, 2, 3)
_FIRST, _COUNT = 0x20, 95
"""The characters of text that are told apart here: the printable ones of ASCII."""


class Space(Protocol):
    """The values of a column as numbers that ascend as the column sorts them."""

    def number(self, value: object) -> int:
        """The number of a value."""
        ...

    def value(self, number: int) -> object:
        """The value of a number."""
        ...


class Integers:
    """Integers."""

    def number(self, value: object) -> int:
        """The integer itself."""
        return int(str(value))

    def value(self, number: int) -> object:
        """The integer itself."""
        return number


@dataclass(frozen=True)
class Raw:
    """Bytes of one width."""

    width: int

    def number(self, value: object) -> int:
        """The bytes as a number, the first one first."""
        return int.from_bytes(bytes(value)[: self.width].ljust(self.width, b"\0"), "big")  # type: ignore[call-overload]

    def value(self, number: int) -> object:
        """The bytes."""
        return number.to_bytes(self.width, "big")


@dataclass(frozen=True)
class Guids:
    """Values of MariaDB's type uuid, as text, in the order in which it stores them."""

    def number(self, value: object) -> int:
        """The stored bytes as a number."""
        data = np.frombuffer(bytes.fromhex(str(value).replace("-", "")), np.uint8)[None]
        return int.from_bytes(np.asarray(stored(Keys(data, "uuid"), "mariadb")).tobytes(), "big")

    def value(self, number: int) -> object:
        """A value that is stored so, or nearly so: not all bytes are stored forms of a value."""
        data = np.frombuffer(number.to_bytes(16, "big"), np.uint8)
        swapped = np.empty(16, np.uint8)
        swapped[list(_SWAPPED)] = data
        is_swapped = 0x01 <= swapped[6] <= 0x5F and swapped[8] >= 0x80
        chosen = (swapped if is_swapped else data).copy()
        if not is_swapped and chosen[6] >= 0x80 and 0x01 <= chosen[8] <= 0x80:
            chosen[8] = 0x81
        if not is_swapped and 0x01 <= chosen[6] <= 0x5F and chosen[8] >= 0x80:  # it would be stored swapped, far away
            chosen[8] = 0x7F
        text = chosen.tobytes().hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@dataclass(frozen=True)
class Hexadecimal:
    """GUIDs as text with hyphens at these places, or without, in one letter case."""

    hyphens: bool
    upper: bool

    def number(self, value: object) -> int:
        """The digits as a number."""
        return int(str(value).replace("-", ""), 16)

    def value(self, number: int) -> object:
        """The text."""
        text = f"{number:032x}"
        text = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}" if self.hyphens else text
        return text.upper() if self.upper else text


@dataclass(frozen=True)
class Text:
    """Printable ASCII of some length; other collations than binary ones sort nearly so."""

    width: int

    def number(self, value: object) -> int:
        """The characters as digits."""
        number = 0
        for character in str(value)[: self.width].ljust(self.width):
            number = number * _COUNT + min(_COUNT - 1, max(0, ord(character) - _FIRST))
        return number

    def value(self, number: int) -> object:
        """The text."""
        characters = []
        for _ in range(self.width):
            number, digit = divmod(number, _COUNT)
            characters.append(chr(_FIRST + digit))
        return "".join(reversed(characters))


@dataclass(frozen=True)
class Part:
    """A range of keys, from `low` to below `high`, as numbers, and about how many rows are in it."""

    low: int
    high: int
    rows: float


def parts(low: int, high: int, estimate: Callable[[int, int], float]) -> list[Part]:
    """Up to `PARTS` ranges from `low` to `high`, of which none has many rows; `estimate` gives the rows of a range."""
    whole = Part(low, high + 1, max(1.0, estimate(low, high + 1)))
    heap = [(-whole.rows, 0, whole)]
    done: list[Part] = []
    made = 0
    while heap and len(heap) + len(done) < PARTS:
        _, _, part = heapq.heappop(heap)
        if part.high - part.low < 2:
            done.append(part)
            continue
        middle = (part.low + part.high) // 2
        for begin, end in ((part.low, middle), (middle, part.high)):
            rows = estimate(begin, end)
            if rows > 0:
                made += 1
                heapq.heappush(heap, (-rows, made, Part(begin, end, rows)))
    return [*done, *(part for _, _, part in heap)]
