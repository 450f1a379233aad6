"""Percona's pseudo-random UUID of 2019 (Yves Trudeau, "UUIDs are Popular, but Bad for Performance"): `f_new_uuid`.

Byte map: r0 r1 the first 16 bits of MD5(year, week)   r2 … r15 from D = MD5(random number and time): hex digits 0 … 7
of D, "4", digits 8 … 10, digits 12 … 27. No variant is set.

All keys of one week share their first two bytes, so they fall into one 65,536th of the index. The weeks come in the
order of their digests, which is none.

Quirks, kept: MySQL's CONCAT writes year and week without a separator or leading zero, so that week 11 of 2021 is
"202111" and week 1 is "20211"; WEEK() in its mode 0 counts from 0, weeks begin on Sunday, and the year's last days keep
week 52 or 53 where others say week 1. Each key hashes RAND() and NOW(6) as text. RAND() has 30 bits (a number below
2^30−1, divided by it), so that among some ten thousand keys of one microsecond two are equal.

Four bytes of entropy a key stand for RAND()'s state: the high 30 of 32 bits, modulo 2^30−1. The time is UTC, where the
server takes its session's time zone.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.byteorder import Bytes, Ints
from keybench.generators.clock import TICKS_PER_SECOND, Ticks
from keybench.generators.description import Description
from keybench.generators.hashes import Messages, digests
from keybench.generators.instants import require_instants
from keybench.generators.layout import Stream
from keybench.generators.writer import GuidStream, Writer, WriterLayout

_RANDOMS: Final = (1 << 30) - 1
_TICKS_PER_DAY: Final = 86_400 * TICKS_PER_SECOND
_YEAR_1: Final = np.datetime64("0001-01-01", "D")


def civil(ticks: Ticks) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Year, month, day, day of the year from 0, and days since 0001-01-01, a Monday."""
    days = ticks // _TICKS_PER_DAY
    dates = _YEAR_1 + days
    months, years = dates.astype("datetime64[M]"), dates.astype("datetime64[Y]")
    year = years.astype(np.int64) + 1970
    month = (months - years).astype(np.int64) + 1
    return year, month, (dates - months).astype(np.int64) + 1, (dates - years).astype(np.int64), days


def weeks(ticks: Ticks) -> Ints:
    """MySQL's WEEK() in mode 0: 0 … 53, weeks begin on Sunday, week 1 with the year's first Sunday."""
    _, _, _, day_of_year, days = civil(ticks)
    weekday = (days + 1) % 7  # from 0, Sunday
    return (day_of_year + 7 - weekday) // 7


def _digits(out: Bytes, at: int, width: int, numbers: Ints) -> None:
    """Writes so many decimal digits of each number."""
    for column in reversed(range(at, at + width)):
        more = numbers // 10
        out[:, column] = numbers - more * 10 + ord("0")
        numbers = more


def texts_of_time(ticks: Ticks) -> Bytes:
    """NOW(6) as text, `2026-11-20 09:08:07.000001`: uint8 (n, 26)."""
    year, month, day, _, days = civil(ticks)
    microseconds = (ticks - days * _TICKS_PER_DAY) // 10
    out = np.tile(np.frombuffer(b"0000-00-00 00:00:00.000000", np.uint8), (len(ticks), 1))
    seconds = microseconds // 1_000_000
    for at, width, numbers in (
        (0, 4, year),
        (5, 2, month),
        (8, 2, day),
        (11, 2, seconds // 3600),
        (14, 2, seconds // 60 % 60),
        (17, 2, seconds % 60),
        (20, 6, microseconds - seconds * 1_000_000),
    ):
        _digits(out, at, width, numbers)
    return out


def texts_of_random(numbers: Ints) -> list[bytes]:
    """RAND() as MySQL writes it: the shortest digits that give the number, without exponent."""
    # Python's repr gives the same digits, faster than numpy does, but turns to exponents below 1e-4.
    texts = []
    for number in (numbers / _RANDOMS).tolist():
        text = repr(number) if number else "0"
        if "e" in text:
            digits, exponent = text.split("e-")
            whole = digits.replace(".", "")
            text = "0." + "0" * (int(exponent) - 1) + whole
        texts.append(text.encode())
    return texts


class PerconaWeek(WriterLayout):
    """Keys that share their first two bytes for a week."""

    def start(self, writer: Writer) -> Stream:
        """A stream of keys, each with its own clock reading."""
        return WeekUuids(self.name, writer)


class WeekUuids(GuidStream):
    """The digest of the week, then that of a random number and the time."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._name = name
        self._clock = writer.clock
        self._entropy = writer.entropy

    def fill(self, data: Bytes) -> None:
        """The next n keys; UsageError beyond the year 9999."""
        n = len(data)
        drawn = self._entropy.take(n, 4).view(">u4")[:, 0].astype(np.int64) >> 2
        ticks = require_instants(self._name, self._clock.read(n))
        random = Messages.of(texts_of_random(drawn % _RANDOMS))
        width = random.data.shape[1]
        texts = np.zeros((n, width + 26), np.uint8)
        texts[:, :width] = random.data
        columns = random.lengths[:, None] + np.arange(26)
        np.put_along_axis(texts, columns, texts_of_time(ticks), axis=1)
        digest = digests("md5", Messages(texts, random.lengths + 26))
        named, place = np.unique(civil(ticks)[0] * 100 + weeks(ticks), return_inverse=True)
        weeks_named = [b"%d%d" % divmod(number, 100) for number in named.tolist()]
        data[:, :2] = digests("md5", Messages.of(weeks_named))[place, :2]
        data[:, 2:6] = digest[:, :4]
        # Three digits follow the 4, then whole bytes again.
        data[:, 6] = 0x40 | digest[:, 4] >> 4
        data[:, 7] = digest[:, 4] << 4 | digest[:, 5] >> 4
        data[:, 8:] = digest[:, 6:14]


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
                "weeks come in no order; inside a week keys fall on one 65,536th of the index, in no order",
                "30 random bits and the microsecond are all that keeps keys apart",
                "no variant: MariaDB's uuid may refuse it or store it in another order",
            ),
        ),
    ),
)
