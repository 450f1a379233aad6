"""Random GUIDs that begin with a block or a week: sequential-uuids, Percona's.

tvondra's sequential-uuids for PostgreSQL: random UUIDs that begin with the number of a block.

Byte map (B the low 16 bits of the block's number, big-endian; R random):

tvondra-sequence   r0 r1 B   then R, version 4, variant 10     block = (sequence value − 1) / 65,536
tvondra-time       r0 r1 B   then R, version 4, variant 10     block = Unix seconds / 60

Sizes and the number of blocks are the extension's defaults. After 65,536 blocks keys start again at the front: of time,
every 45.5 days. Inside a block keys come in no order.

All sessions share the sequence: its values are the planned row numbers (`Process.row_numbers`) over all writers. 16
bytes of entropy a key, partly overwritten.

Percona's pseudo-random UUID of 2019 (Yves Trudeau, "UUIDs are Popular, but Bad for Performance"): `f_new_uuid`.

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

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.generators.core.bits import big_endian, put_words, read_words, stamp_version, words
from keybench.generators.core.clock import DATETIME_LAST, TICKS_PER_DAY, TICKS_PER_SECOND, UNIX_EPOCH, Ticks
from keybench.generators.core.description import Description, Timestamp, timed
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.model.keys import Bytes, Ints, Keys

_BLOCK_BITS: Final = 16  # bits of a block's number in the keys

_BELOW_BLOCK: Final = 64 - _BLOCK_BITS  # bits of r0 … r7 below the block's number


@dataclass(frozen=True, kw_only=True)
class Blocks(GuidLayout):
    """UUIDs in blocks: `size` values a block, and 65,536 blocks."""

    size: int

    @abstractmethod
    def values(self, n: int, writer: Writer) -> Ints:
        """The next n values that are divided into blocks, none negative."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next UUIDs into `data`; UsageError for a clock before 1970."""
        writer.entropy.fill(data)
        stamp_version(data, 4)
        blocks = (self.values(len(data), writer) // self.size).view(np.uint64) << np.uint64(_BELOW_BLOCK)
        high = words(data)[:, 0]  # a view of r0 … r7
        high &= big_endian(np.array([(1 << _BELOW_BLOCK) - 1], np.uint64))  # r0 r1 become 0
        high |= big_endian(blocks)

    def decode(self, keys: Keys) -> Decoded:
        """The block's number."""
        high, _ = read_words(keys)
        return Decoded(fields={"block": (high >> np.uint64(_BELOW_BLOCK)).view(np.int64)})


class Sequence(Blocks):
    """Blocks of a sequence's values."""

    reads_clock = "never"

    def values(self, n: int, writer: Writer) -> Ints:
        """The values, from 0, of the writer's next n rows in the sequence that all writers share."""
        return writer.row_numbers(n) - 1


class Intervals(Blocks):
    """Blocks of time."""

    def values(self, n: int, writer: Writer) -> Ints:
        """Unix seconds."""
        return (writer.readings(n) - UNIX_EPOCH) // TICKS_PER_SECOND


_SOURCE: Final = "github.com/tvondra/sequential-uuids sequential_uuids.c"
_IN_A_BLOCK: Final = "keys of one block come in no order"
_NO_COMB: Final = "MariaDB's uuid sorts version 4 by its end, which is random"
_DIAGRAM: Final = "B16 R32 V4:4 R12 X2:2 R62"

_RANDOMS: Final = (1 << 30) - 1  # how many values RAND() has
_YEAR_1: Final = np.datetime64("0001-01-01", "D")


def years_and_weeks(ticks: Ticks) -> tuple[Ints, Ints]:
    """(the year, the week as MySQL's WEEK() in mode 0 counts) of each tick. Weeks are 0 … 53 and begin on Sunday, week
    1 on the year's first Sunday."""
    days = ticks // TICKS_PER_DAY  # since 0001-01-01, which was a Monday
    dates = _YEAR_1 + days
    years = dates.astype("datetime64[Y]")
    day_of_year = (dates - years).astype(np.int64)  # from 0
    weekday = (days + 1) % 7  # from 0, Sunday
    return years.astype(np.int64) + 1970, (day_of_year + 7 - weekday) // 7  # how many Sundays the year has had


def texts_of_time(ticks: Ticks) -> list[str]:
    """NOW(6) as text, `2026-11-20 09:08:07.000001`."""
    moments = ((ticks - UNIX_EPOCH) // 10).view("datetime64[us]")
    return [text.replace("T", " ") for text in np.datetime_as_string(moments).tolist()]


def text_of_random(number: int) -> str:
    """RAND() as MySQL writes it: the shortest digits that round to the number, without exponent."""
    text = repr(number / _RANDOMS) if number else "0"
    if "e" not in text:
        return text
    digits, exponent = text.split("e-")  # Python writes numbers below 1e-4 so
    return "0." + "0" * (int(exponent) - 1) + digits.replace(".", "")


def _md5(text: str) -> int:
    """The first 14 of the 16 bytes of a text's MD5, as a number of 112 bits: all that keys use of it."""
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()) >> 16


class PerconaWeek(GuidLayout):
    """Keys that share their first two bytes for a week, then have the digest of a random number and the time. hashlib
    hashes one message a call, so the keys are made one by one."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next keys into `data`; UsageError beyond the year 9999."""
        # 30 bits: RAND() is one of these numbers / _RANDOMS.
        randoms = (writer.entropy.take(len(data), 4).view(">u4")[:, 0].astype(np.int64) >> 2) % _RANDOMS
        ticks = writer.readings(len(data))
        randoms_and_times = zip(randoms.tolist(), texts_of_time(ticks), strict=True)
        digests = [_md5(text_of_random(number) + time) for number, time in randoms_and_times]
        years, weeks = years_and_weeks(ticks)
        # r0 r1: each week is hashed once. MySQL's CONCAT writes 2021 and 1 as 20211. Of 112 bits, `>> 96` leaves the
        # first 16, `>> 80` the first 32, `>> 68 & 0xFFF` the hexadecimal digits 8 … 10.
        years_weeks, week_of_key = np.unique(years * 100 + weeks, return_inverse=True)
        texts = [f"{number // 100}{number % 100}" for number in years_weeks.tolist()]
        week = np.array([_md5(text) >> 96 for text in texts], np.uint64)[week_of_key]
        # r2 … r5: D's digits 0 … 7; r6 r7: the digit 4 and D's digits 8 … 10; r8 … r15: digits 12 … 27.
        start = np.array([digest >> 80 << 16 | 0x4000 | digest >> 68 & 0xFFF for digest in digests], np.uint64)
        end = np.array([digest & (1 << 64) - 1 for digest in digests], np.uint64)
        put_words(data, week << np.uint64(48) | start, end)


LAYOUTS = (
    Sequence(
        "tvondra-sequence",
        "sequential-uuids: 16-bit number of a block of 65,536 sequence values, then random (version 4)",
        _SOURCE + " uuid_sequence_nextval",
        size=65_536,
        description=Description(
            _DIAGRAM,
            {"B": "block of the shared sequence, modulo 65,536"},
            within="by block",
            across="by block",
            caveats=(_IN_A_BLOCK, "starts again at the front every 4,294,967,296 keys", _NO_COMB),
        ),
    ),
    Intervals(
        "tvondra-time",
        "sequential-uuids: 16-bit number of the minute, then random (version 4)",
        _SOURCE + " uuid_time_nextval",
        size=60,
        description=timed(
            _DIAGRAM,
            {"B": "minutes since 1970, modulo 65,536"},
            Timestamp(
                "minutes since 1970, low 16 bits",
                UNIX_EPOCH,
                DATETIME_LAST,
                60 * TICKS_PER_SECOND,
                readable=False,
                period=(60 << 16) * TICKS_PER_SECOND,
            ),
            _IN_A_BLOCK,
            "starts again at the front every 45.5 days",
            _NO_COMB,
        ),
    ),
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
