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

import hashlib
from typing import Final

import numpy as np

from keybench.generators.core.bits import put_words
from keybench.generators.core.clock import TICKS_PER_DAY, UNIX_EPOCH, Ticks
from keybench.generators.core.description import Description
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.model.keys import Bytes, Ints

_RANDOMS: Final = (1 << 30) - 1
_YEAR_1: Final = np.datetime64("0001-01-01", "D")


def years_and_weeks(ticks: Ticks) -> tuple[Ints, Ints]:
    """The year, and MySQL's WEEK() in mode 0: 0 … 53; weeks begin on Sunday, week 1 on the year's first Sunday."""
    days = ticks // TICKS_PER_DAY  # since 0001-01-01, a Monday
    dates = _YEAR_1 + days
    years = dates.astype("datetime64[Y]")
    day_of_year = (dates - years).astype(np.int64)  # from 0
    weekday = (days + 1) % 7  # from 0, Sunday
    return years.astype(np.int64) + 1970, (day_of_year + 7 - weekday) // 7


def texts_of_time(ticks: Ticks) -> list[str]:
    """NOW(6) as text, `2026-11-20 09:08:07.000001`."""
    moments = ((ticks - UNIX_EPOCH) // 10).view("datetime64[us]")
    return [text.replace("T", " ") for text in np.datetime_as_string(moments).tolist()]


def text_of_random(number: int) -> str:
    """RAND() as MySQL writes it: the shortest digits that round to the number, without exponent."""
    text = repr(number / _RANDOMS) if number else "0"
    if "e" not in text:
        return text
    digits, exponent = text.split("e-")  # Python has an exponent below 1e-4
    return "0." + "0" * (int(exponent) - 1) + digits.replace(".", "")


def _md5(text: str) -> int:
    """The first 14 bytes of a text's digest, as a number."""
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()) >> 16


class PerconaWeek(GuidLayout):
    """Keys that share their first two bytes for a week, then have the digest of a random number and the time.

    hashlib hashes one message a call, so the keys are made one by one.
    """

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n keys; UsageError beyond the year 9999."""
        drawn = (writer.entropy.take(len(data), 4).view(">u4")[:, 0].astype(np.int64) >> 2) % _RANDOMS
        ticks = writer.readings(len(data))
        texts = zip(drawn.tolist(), texts_of_time(ticks), strict=True)
        digests = [_md5(text_of_random(number) + time) for number, time in texts]
        years, weeks = years_and_weeks(ticks)
        numbers, place = np.unique(years * 100 + weeks, return_inverse=True)
        # MySQL's CONCAT writes 2021 and 1 as 20211.
        names = [f"{number // 100}{number % 100}" for number in numbers.tolist()]
        week = np.array([_md5(name) >> 96 for name in names], np.uint64)[place]
        # Four bytes, the digit 4 and three hexadecimal digits, then whole bytes again.
        start = np.array([digest >> 80 << 16 | 0x4000 | digest >> 68 & 0xFFF for digest in digests], np.uint64)
        end = np.array([digest & (1 << 64) - 1 for digest in digests], np.uint64)
        put_words(data, week << np.uint64(48) | start, end)


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
