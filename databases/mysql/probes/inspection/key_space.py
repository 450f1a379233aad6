"""Where keys of a clustered index lie, found by the optimizer's estimates of ranges (two dives into the index each).

A row cannot be chosen by its place in InnoDB, only by its key. Keys are not spread evenly over all possible ones: half
of a table may lie in a millionth of them. So the range from the least to the greatest key is halved again and again
where the server estimates most rows, until no part has many; then each part is met in proportion to its rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from keybench.model.byteorder import stored
from keybench.model.keys import Keys

RANGES: Final = 200
_SWAPPED: Final = (*range(10, 16), 8, 9, 6, 7, 4, 5, 0, 1, 2, 3)
_FIRST, _COUNT = 0x20, 95
"""The characters of text that are told apart here: the printable ones of ASCII."""


@dataclass(frozen=True)
class KeyNumbers:
    """The values of a column as numbers that ascend as the column sorts them, and back."""

    number: Callable[[Any], int]
    value: Callable[[int], object]


def key_numbers(kind: str, low: object, high: object) -> KeyNumbers | None:
    """For a column of that type with these least and greatest values; None for keys that keybench does not know."""
    if kind == "uuid":
        return KeyNumbers(_number_of_uuid, _uuid)
    if isinstance(low, bytes) and isinstance(high, bytes):
        width = max(len(low), len(high))
        return KeyNumbers(
            lambda value: int.from_bytes(bytes(value)[:width].ljust(width, b"\0"), "big"),
            lambda number: number.to_bytes(width, "big"),
        )
    if isinstance(low, int):
        return KeyNumbers(lambda value: int(str(value)), lambda number: number)
    if not isinstance(low, str) or not isinstance(high, str):
        return None
    digits = low.replace("-", "") + high.replace("-", "")
    if len(digits) == 64 and all(character in "0123456789abcdefABCDEF" for character in digits):
        is_upper = digits.upper() == digits and digits.lower() != digits
        return KeyNumbers(
            lambda value: int(str(value).replace("-", ""), 16), partial(_digits, hyphens="-" in low, upper=is_upper)
        )
    width = max(len(low), len(high))
    return KeyNumbers(partial(_number_of_text, width=width), partial(_text, width=width))


def _number_of_uuid(value: object) -> int:
    """A value of MariaDB's type uuid, in the order in which it stores them: the stored bytes as a number."""
    data = np.frombuffer(bytes.fromhex(str(value).replace("-", "")), np.uint8)[None]
    return int.from_bytes(np.asarray(stored(Keys(data, "uuid"), "mariadb")).tobytes(), "big")


def _uuid(number: int) -> str:
    """A value that MariaDB stores as these bytes, or nearly so: not all bytes are stored forms of a value.

    It swaps the bytes of versions 1 to 5 of RFC variants: bytes 6 and 8 tell (byteorder, `mariadb`).
    """
    data = np.frombuffer(number.to_bytes(16, "big"), np.uint8)
    swapped = np.empty(16, np.uint8)
    swapped[list(_SWAPPED)] = data
    is_swapped = 0x01 <= swapped[6] <= 0x5F and swapped[8] >= 0x80
    uuid = (swapped if is_swapped else data).copy()
    if not is_swapped and uuid[6] >= 0x80 and 0x01 <= uuid[8] <= 0x80:
        uuid[8] = 0x81
    if not is_swapped and 0x01 <= uuid[6] <= 0x5F and uuid[8] >= 0x80:  # it would be stored swapped, far away
        uuid[8] = 0x7F
    return _digits(int.from_bytes(uuid.tobytes(), "big"), hyphens=True, upper=False)


def _digits(number: int, *, hyphens: bool, upper: bool) -> str:
    """A GUID as text."""
    text = f"{number:032x}"
    text = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}" if hyphens else text
    return text.upper() if upper else text


def _number_of_text(value: object, *, width: int) -> int:
    """Printable ASCII as digits; other collations than binary ones sort nearly so."""
    number = 0
    for character in str(value)[:width].ljust(width):
        number = number * _COUNT + min(_COUNT - 1, max(0, ord(character) - _FIRST))
    return number


def _text(number: int, *, width: int) -> str:
    characters = []
    for _ in range(width):
        number, digit = divmod(number, _COUNT)
        characters.append(chr(_FIRST + digit))
    return "".join(reversed(characters))


@dataclass(frozen=True)
class KeyRange:
    """A range of keys, from `low` to below `high`, as numbers, and about how many rows are in it."""

    low: int
    high: int
    rows: float


def ranges(low: int, high: int, estimate: Callable[[int, int], float]) -> list[KeyRange]:
    """Up to `RANGES` ranges from `low` to `high`, of which none has many rows; `estimate` gives the rows of a range."""
    whole = KeyRange(low, high + 1, max(1.0, estimate(low, high + 1)))
    heap = [(-whole.rows, 0, whole)]
    narrow: list[KeyRange] = []
    pushed = 0
    while heap and len(heap) + len(narrow) < RANGES:
        _, _, part = heapq.heappop(heap)
        if part.high - part.low < 2:
            narrow.append(part)
            continue
        middle = (part.low + part.high) // 2
        for begin, end in ((part.low, middle), (middle, part.high)):
            rows = estimate(begin, end)
            if rows > 0:
                pushed += 1
                heapq.heappush(heap, (-rows, pushed, KeyRange(begin, end, rows)))
    return [*narrow, *(part for _, _, part in heap)]
