"""Percona's pseudo-random UUID of 2019 (Yves Trudeau, "UUIDs are Popular, but Bad for Performance"): `f_new_uuid`.

Byte map: r0 r1 the first 16 bits of MD5(year, week)   r2 … r15 from D = MD5(random number and time): hex digits 0 … 7
of D, "4", digits 8 … 10, digits 12 … 27. No variant is set.

All keys of one week share their first two bytes, so they go to one 65,536th of the index. The weeks come in the order
of their digests, which is no order.

Quirks, kept: MySQL's CONCAT writes year and week without a separator or leading zero, so week 11 of 2021 is "202111"
and week 1 is "20211". WEEK() in mode 0 counts from 0, its weeks begin on Sunday, and the year's last days are in week
52 or 53 where other calendars have week 1. Each key hashes RAND() and NOW(6) as text. RAND() has 30 bits (a number
below 2^30−1, divided by 2^30−1), so two of some ten thousand keys of one microsecond are equal.

Four bytes of entropy a key stand for RAND()'s state: the high 30 of 32 bits, modulo 2^30−1. The time is UTC; the server
uses its session's time zone.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.bits import Words, put_words
from keybench.generators.core.clock import TICKS_PER_DAY, Ticks
from keybench.generators.core.counters import changes
from keybench.generators.core.description import Description
from keybench.generators.core.instants import require_instants
from keybench.generators.core.layout import Stream
from keybench.generators.core.loops.hashes import Messages, digests
from keybench.generators.core.loops.loading import kernels_for
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints

_RANDOMS: Final = (1 << 30) - 1
_LONGEST: Final = 30
"""Room for the characters of RAND(): `0.`, at most nine zeros and seventeen digits, and two more."""
_YEAR_1: Final = np.datetime64("0001-01-01", "D")


def civil(ticks: Ticks) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Year, month, day, day of the year from 0, and days since 0001-01-01, a Monday."""
    days = ticks // TICKS_PER_DAY
    starts, lengths = _runs(days)
    year, month, day, day_of_year = (np.repeat(part, lengths) for part in _calendar(days[starts]))
    return year, month, day, day_of_year, days


def _runs(numbers: Ints) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where runs of equal numbers start, and how long they are. Most readings are of the same day."""
    starts = np.flatnonzero(changes(numbers, -1))
    lengths = np.empty_like(starts)
    lengths[-1:] = len(numbers) - starts[-1:]
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    return starts, lengths


def _calendar(days: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Year, month, day, and day of the year from 0, of days since 0001-01-01."""
    dates = _YEAR_1 + days
    months, years = dates.astype("datetime64[M]"), dates.astype("datetime64[Y]")
    year = years.astype(np.int64) + 1970
    month = (months - years).astype(np.int64) + 1
    return year, month, (dates - months).astype(np.int64) + 1, (dates - years).astype(np.int64)


def weeks(ticks: Ticks) -> Ints:
    """MySQL's WEEK() in mode 0: 0 … 53; weeks begin on Sunday, week 1 on the year's first Sunday."""
    _, _, _, day_of_year, days = civil(ticks)
    weekday = (days + 1) % 7  # from 0, Sunday
    return (day_of_year + 7 - weekday) // 7


def _digits(out: Bytes, at: int, width: int, numbers: Ints) -> None:
    """Writes the last `width` decimal digits of each number, from column `at` on."""
    if kernels_for(len(numbers)):
        from keybench.generators.core.loops import text_kernels

        text_kernels.digits(out, at, width, numbers)
        return
    for column in reversed(range(at, at + width)):
        more = numbers // 10
        out[:, column] = numbers - more * 10 + ord("0")
        numbers = more


def texts_of_time(ticks: Ticks) -> Bytes:
    """NOW(6) as text, `2026-11-20 09:08:07.000001`: uint8 (n, 26)."""
    days = ticks // TICKS_PER_DAY
    starts, lengths = _runs(days)
    year, month, day, _ = _calendar(days[starts])
    dates = np.tile(np.frombuffer(b"0000-00-00 00:00:00.000000", np.uint8), (len(starts), 1))
    for at, width, numbers in ((0, 4, year), (5, 2, month), (8, 2, day)):
        _digits(dates, at, width, numbers)
    out = np.repeat(dates, lengths, axis=0)
    microseconds = (ticks - days * TICKS_PER_DAY) // 10
    seconds = microseconds // 1_000_000
    for at, width, numbers in (
        (11, 2, seconds // 3600),
        (14, 2, seconds // 60 % 60),
        (17, 2, seconds % 60),
        (20, 6, microseconds - seconds * 1_000_000),
    ):
        _digits(out, at, width, numbers)
    return out


def texts_of_random(numbers: Ints) -> Messages:
    """RAND() as MySQL writes it: the shortest digits that round to the number, without exponent."""
    if kernels_for(len(numbers)):
        from keybench.generators.core.loops import text_kernels

        messages = Messages(np.zeros((len(numbers), _LONGEST), np.uint8), np.zeros(len(numbers), np.int64))
        text_kernels.decimals((numbers / _RANDOMS).view(np.uint64), _powers(), 0, messages.data, messages.lengths)
        return messages
    # Python's repr gives the same digits, faster than numpy, but with an exponent below 1e-4.
    texts = []
    for number in (numbers / _RANDOMS).tolist():
        text = repr(number) if number else "0"
        if "e" in text:
            digits, exponent = text.split("e-")
            whole = digits.replace(".", "")
            text = "0." + "0" * (int(exponent) - 1) + whole
        texts.append(text.encode())
    return Messages.from_texts(texts)


@cache
def _powers() -> NDArray[np.uint64]:
    """10^0 to 10^39, scaled to 128 bits with the first bit set, rounded up: uint64 (40, 2)."""
    scaled = [-(-(10**exponent << 128) >> (10**exponent).bit_length()) for exponent in range(40)]
    return np.array([divmod(number, 1 << 64) for number in scaled], np.uint64)


class PerconaWeek(WriterLayout):
    """Keys that share their first two bytes for a week."""

    def start(self, writer: Writer) -> Stream:
        """A stream of keys, each with its own clock reading."""
        return WeekUuids(self.name, writer)


class WeekUuids(GuidStream):
    """The digest of the week, then the digest of a random number and the time."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._name = name
        self._clock = writer.clock
        self._entropy = writer.entropy

    def fill(self, data: Bytes) -> None:
        """The next n keys; UsageError beyond the year 9999."""
        n = len(data)
        drawn = self._entropy.take(n, 4).view(">u4")[:, 0].astype(np.int64) >> 2
        ticks = require_instants(self._name, self._clock.read(n))
        digest = digests("md5", texts_of_random(drawn % _RANDOMS).with_suffixes(texts_of_time(ticks)))
        numbers = civil(ticks)[0] * 100 + weeks(ticks)
        starts, lengths = _runs(numbers)
        named = Messages.from_texts([b"%d%d" % divmod(number, 100) for number in numbers[starts].tolist()])
        week = np.repeat(_numbers(digests("md5", named))[0] >> 48, lengths)
        # Four bytes, the digit 4 and three hexadecimal digits, then whole bytes again.
        first, last = _numbers(digest)
        put_words(data, week << 48 | first >> 32 << 16 | 0x4000 | first >> 20 & 0xFFF, first << 48 | last >> 16)


def _numbers(digest: Bytes) -> tuple[Words, Words]:
    """The two halves of each digest as numbers, most significant byte first."""
    first, last = digest.view(">u8").astype(np.uint64).T
    return first, last


LAYOUTS = (
    PerconaWeek(
        "percona-week",
        "Percona's f_new_uuid() of 2019: two bytes for the week, then an MD5 of random number and time",
        "Percona, UUIDs are popular, but bad for performance (2019)",
        order="none",
        aliases=("percona-f-new-uuid",),
        description=Description(
            "W16 D32 V4:4 D76",
            {"W": "MD5 of year and week", "D": "MD5 of 30 random bits and the microsecond"},
            random="",
            caveats=(
                "weeks come in no order; the keys of a week go to one 65,536th of the index, in no order",
                "only 30 random bits and the microsecond make keys unique",
                "no variant: MariaDB's uuid can refuse a key or sort it in another order",
            ),
        ),
    ),
)
