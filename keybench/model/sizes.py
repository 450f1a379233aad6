"""Numbers as people write them, and sizes of memory: 64GB, 512M, 1.5TB.

As in settings of servers, a kilobyte has 1,024 bytes.
"""

import re
from decimal import Decimal
from typing import Final

from keybench.errors import UsageError, shortened

_FORM: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([KMGTP]?)i?B?", re.IGNORECASE | re.ASCII)
_UNITS: Final = "KMGTP"


def bytes_of(text: str, option: str) -> int:
    """Bytes that a text such as 64GB stands for. UsageError, which names the option, for other texts and for 0."""
    match = _FORM.fullmatch(text.strip())
    power = _UNITS.find(match[2].upper()) + 1 if match and match[2] else 0  # of 1,024: K 1, M 2, …
    size = int(float(match[1]) * 1024**power) if match else 0
    if not size:
        raise UsageError(f"{option} {shortened(text)} is no size: write it as 512MB or 64GB.")
    return size


def digits(value: float, count: int) -> str:
    """A number with `count` significant digits, never with an exponent: 0.000032; 9.55; 12,345."""
    return f"{value:,.0f}" if abs(value) >= 10**count else f"{Decimal(f'{value:.{count}g}'):,f}"


def spelled(size: float) -> str:
    """A size in bytes, written in the largest unit of which it has one: 64 GB, 1.5 GB, 512 bytes."""
    if size < 1024:
        return f"{size:.0f} bytes"
    power = min(len(_UNITS), max(1, (int(size).bit_length() - 1) // 10))  # of 1,024, as in `bytes_of`
    value = size / 1024**power
    return f"{value:.0f} {_UNITS[power - 1]}B" if value >= 100 else f"{value:.3g} {_UNITS[power - 1]}B"
