"""The keys that a column's values can stand for: text that spells GUIDs, bytes in one of several orders, and so on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.existing import Form, SampleHere
from keybench.model.byteorder import PERMUTATIONS
from keybench.model.keys import Bytes, Keys, Order

Rows = NDArray[np.intp]

_GUID: Final = re.compile(
    r"\{?[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\}?|[0-9A-Fa-f]{32}"
)
_HEXADECIMAL: Final = re.compile(r"([0-9A-Fa-f]{2})+")
_PLAIN: Final = re.compile(r"[!-~]+")

ORDERS: Final[tuple[Order, ...]] = ("rfc", "net", "mysql-swap", "mssql")
"""The orders in which 16 bytes of a GUID may have been stored, the usual ones first."""

_UNUSUAL: Final = 0.01


@dataclass(frozen=True, eq=False)
class Read:
    """Some of a column's values, read as keys in one way."""

    keys: Keys
    rows: Rows
    """Which of the values these are."""
    order: Order = "rfc"
    """The order of the stored bytes."""
    spelled: str = ""
    """How the key is written where it is no key of its column's own kind: `36 characters in lower case` …"""
    unlikelier: float = 0.0
    """Bits a key by which this way of reading is less usual than the others."""


def readings(sample: SampleHere, form: Form) -> list[Read]:
    """Every way to read the values, each for those that it fits; values that fit none are in no reading."""
    if form == "int":
        numbers = np.asarray(sample.values, np.int64)
        return [Read(Keys(numbers, "int"), np.arange(len(numbers)))]
    if form == "text":
        return list(_of_text([str(value) for value in sample.values]))
    return list(_of_bytes([value for value in sample.values if isinstance(value, bytes)], form))


def _of_bytes(values: Sequence[bytes], form: Form) -> Iterator[Read]:
    for width, rows in _by_width(values).items():
        data = np.frombuffer(b"".join(values[row] for row in rows), np.uint8).reshape(-1, width) if width else None
        if data is None:
            continue
        if width == 16:
            for place, order in enumerate(ORDERS if form == "bytes" else ORDERS[:1]):
                yield Read(Keys(unstored(data, order), "uuid"), rows, order, "", _UNUSUAL * place)
        elif form == "bytes" and all(value.isascii() for value in (values[row] for row in rows[:50])) and width > 16:
            texts = [values[row].decode("ascii", "replace") for row in rows]
            for read in _of_text(texts):
                yield Read(read.keys, rows[read.rows], read.order, read.spelled or f"{width} characters", _UNUSUAL)
        if form == "bytes" and width != 16:
            yield Read(Keys(data, "bytes"), rows)


def _of_text(values: Sequence[str]) -> Iterator[Read]:
    for width, rows in _by_width(values).items():
        texts = [values[row] for row in rows]
        if width in {32, 36, 38} and all(_GUID.fullmatch(text) for text in texts):
            digits = "".join(text.strip("{}").replace("-", "") for text in texts)
            case = "lower" if digits == digits.lower() else "upper" if digits == digits.upper() else "mixed"
            data = np.frombuffer(bytes.fromhex(digits), np.uint8).reshape(-1, 16)
            for order in ORDERS[:1] if width != 32 else ORDERS:
                yield Read(
                    Keys(unstored(data, order), "uuid"), rows, order, f"{width} characters in {case} case",
                    _UNUSUAL * ORDERS.index(order),
                )  # fmt: skip
            continue
        if width % 2 == 0 and all(_HEXADECIMAL.fullmatch(text) for text in texts):
            data = np.frombuffer(bytes.fromhex("".join(texts)), np.uint8).reshape(-1, width // 2)
            yield Read(Keys(data, "bytes"), rows, "rfc", f"{width} hexadecimal digits")
        if all(_PLAIN.fullmatch(text) for text in texts):
            data = np.frombuffer("".join(texts).encode(), np.uint8).reshape(-1, width)
            yield Read(Keys(data, "text"), rows)


def _by_width(values: Sequence[bytes] | Sequence[str]) -> dict[int, Rows]:
    found: dict[int, list[int]] = defaultdict(list)
    for row, value in enumerate(values):
        found[len(value)].append(row)
    return {width: np.array(rows, np.intp) for width, rows in found.items()}


def unstored(data: Bytes, order: Order) -> Bytes:
    """GUIDs in RFC order, from the bytes that a column stores in that order: uint8 (n, 16)."""
    out = np.empty_like(data)
    out[:, list(PERMUTATIONS[order])] = data
    return out
