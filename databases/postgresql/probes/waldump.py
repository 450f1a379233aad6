"""Reads page splits from the write-ahead log. Only there does PostgreSQL distinguish appends from other splits.

A Btree SPLIT_L or SPLIT_R record at level 0 is one leaf split. If it names a third block (`blkref #2`, the old right
sibling), the leaf was not the rightmost one: this is an interior split. Otherwise the leaf was the rightmost one. The
split is then an append if the new entry's place (`newitemoff`) is past the last entry of the full page, else an edge
split.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_CHUNK = 1 << 20
_PAGE_BYTES = 8192
"""The page size of the log in every build that anybody distributes."""
_SPLIT = re.compile(rb"SPLIT_[LR][^\n]*")
_PARTS = re.compile(rb"level:? (\d+).*newitemoff:? (\d+).*?blkref #0: rel (\d+/\d+/\d+)")

_TOTAL = re.compile(rb"^Total\s+\d+\s+\d+ \[[^]]*\]\s+(\d+)", re.MULTILINE)


class WalUnreadableError(Exception):
    """The log of the trial cannot be read; the message says why."""


@dataclass(frozen=True)
class Splits:
    """Splits of one index, by kind."""

    appends: int
    edge: int
    interior: int
    branch: int

    @property
    def leaf(self) -> int:
        """Leaf splits of all kinds."""
        return self.appends + self.edge + self.interior


def count(chunks: Iterable[bytes], relation: str, capacity: int) -> Splits:
    """Counts the splits in the text of log records, one record per line.

    `relation` is tablespace/database/file as in the log; `capacity` is the number of entries of a full rightmost leaf.
    """
    wanted = relation.encode()
    kinds = {"appends": 0, "edge": 0, "interior": 0, "branch": 0}
    rest = b""
    for chunk in itertools.chain(chunks, [b"\n"]):
        text = rest + chunk
        cut = text.rfind(b"\n") + 1
        rest = text[cut:]
        for record in _SPLIT.findall(text, 0, cut):
            parts = _PARTS.search(record)
            if not parts:
                raise WalUnreadableError(f"a split record of unknown form: {record[:120].decode('ascii', 'replace')}")
            level, place, index = parts.groups()
            if index == wanted:
                kinds[_kind(int(level), int(place), b"blkref #2" in record, capacity)] += 1
    return Splits(**kinds)


def _kind(level: int, place: int, has_right_sibling: bool, capacity: int) -> str:
    if level:
        return "branch"
    if has_right_sibling:
        return "interior"
    return "appends" if place > capacity else "edge"


@dataclass(frozen=True)
class PrivateLog:
    """A private server's log, read by the programs of its own installation."""

    programs: Path
    directory: Path
    segment_bytes: int

    def btree_records(self, begin: str, end: str) -> Iterator[bytes]:
        """The Btree records between two positions as text, in chunks."""
        return self._dump(begin, end, "--rmgr", "Btree")

    def page_image_bytes(self, begin: str, end: str) -> int:
        """Bytes of full-page images between two positions."""
        total = _TOTAL.search(b"".join(self._dump(begin, end, "--stats")))
        if not total:
            raise WalUnreadableError("pg_waldump --stats gave no total")
        return int(total[1])

    def _segment(self, place: int) -> str:
        """The name of the file that holds that byte of the log: timeline (1 on a new server) and segment number."""
        high, low = divmod(place // self.segment_bytes, (1 << 32) // self.segment_bytes)
        return f"{1:08X}{high:08X}{low:08X}"

    def _before_header(self, place: int) -> int:
        """The start of the page if `place` is just past the page's header, else `place`.

        The server reports the place of its next record past the header. If pg_waldump (15 and 18) gets that place as
        its end, it takes what an earlier page left in its buffer for one more record, and fails.
        """
        header = 40 if place % self.segment_bytes < _PAGE_BYTES else 24
        return place - header if place % _PAGE_BYTES == header else place

    def _dump(self, begin: str, end: str, *options: str) -> Iterator[bytes]:
        first, last = _number(begin), self._before_header(_number(end))
        if first >= last:
            return
        program = self.programs / "pg_waldump"
        if not program.exists():
            raise WalUnreadableError("this PostgreSQL was installed without pg_waldump, which reads its log")
        command: list[str | Path] = [program, "--path", self.directory]
        # The command names the files. Otherwise pg_waldump takes the segment size from the first file that it finds,
        # which may be an empty file prepared for later.
        files = [self._segment(first), self._segment(last - 1)]
        command += ["--start", begin, "--end", f"{last >> 32:X}/{last & 0xFFFFFFFF:X}", *options, *files]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as dump:
            assert dump.stdout
            assert dump.stderr
            while chunk := dump.stdout.read(_CHUNK):
                yield chunk
            message = dump.stderr.read().decode("utf-8", "replace")
            if dump.wait():
                raise WalUnreadableError(f"pg_waldump failed: {' '.join(message.split())}")


def _number(position: str) -> int:
    """A log position as the number of bytes before it."""
    high, low = position.split("/")
    return int(high, 16) << 32 | int(low, 16)
