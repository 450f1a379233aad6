"""What the layouts here share: a writer's sources, and streams that make keys in chunks.

A layout whose keys depend on nothing but these sources writes one method: `GuidLayout.fill` or `ChunkLayout.chunk`. A
layout whose streams keep something from key to key names the class of its streams (`WriterLayout.streams`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import numpy as np

from keybench.generators.core.bits import (
    from_sql_guid,
    numbers_of_parts,
    refuse_keys,
    require_guids,
    stamp_version,
    to_sql_guid,
)
from keybench.generators.core.clock import UNIX_EPOCH, Clock, Ticks, milliseconds, require_instants
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import Decoded, GuidProvider, Layout, Stream, require_form
from keybench.generators.core.process import Process
from keybench.model.keys import Bytes, Ints, Keys

CHUNK: Final = 32_768
"""Keys made at once: 512 KiB stay in a cache near the core between passes, and are enough that calls cost little."""


@dataclass(eq=False)
class Writer:
    """All sources that one stream can use; `guids` replaces the random base GUIDs."""

    layout: Layout
    process: Process
    clock: Clock
    entropy: Entropy
    guids: GuidProvider | None = None
    rows: int = 0
    """Rows whose numbers were taken."""

    def readings(self, n: int) -> Ticks:
        """The clock's next n readings, in ticks; UsageError for one that keys of the layout cannot hold."""
        return self.require(self.clock.read(n))

    def unix_milliseconds(self, n: int) -> Ints:
        """The clock's next n readings, in whole milliseconds since 1970."""
        return milliseconds(self.readings(n) - UNIX_EPOCH).view(np.int64)

    def readings_fine(self, n: int) -> tuple[Ticks, Ints]:
        """(the clock's next n readings in ticks, the odd nanoseconds, 0–99, beyond each). UsageError for a reading that
        keys of the layout cannot hold."""
        ticks, odd = self.clock.read_fine(n)
        return self.require(ticks), odd

    def now(self) -> int:
        """The clock's tick at construction; UsageError for one that keys of the layout cannot hold."""
        return int(self.require(np.array([self.clock.now()]))[0])

    def require(self, ticks: Ticks) -> Ticks:
        """`ticks`; UsageError for one that the layout refuses (`Timestamp.outside`), or .NET's DateTime does."""
        time = self.layout.description.time
        if time and time.outside == "refused":
            return require_instants(self.layout.name, ticks, time.first, time.last)
        return require_instants(self.layout.name, ticks)

    def base_guids(self, data: Bytes) -> None:
        """Fills `data` with the next base GUIDs, which layouts overwrite in part: those of `guids`, or version 4 as
        .NET's `Guid.NewGuid` makes them."""
        if self.guids is not None:
            data[:] = self.guids.take(len(data))
        else:
            self.entropy.fill(data)
            stamp_version(data, 4)

    def row_numbers(self, n: int) -> Ints:
        """The planned numbers, from 1, of the writer's next n rows."""
        numbers = self.process.row_numbers(self.rows, n)
        self.rows += n
        return numbers

    def draw_number(self, width: int) -> int:
        """`width` bytes of entropy as a number, most significant byte first."""
        return int.from_bytes(self.entropy.take(1, width).tobytes())


class WriterLayout(Layout):
    """A layout whose streams take the sources that they need from a `Writer`. Its keys are decoded as the description
    says (`Description.reads`)."""

    streams: type[WriterStream[Any]]
    """The class of its streams."""

    def stream(self, process: Process, clock: Clock, entropy: Entropy, *, guids: GuidProvider | None = None) -> Stream:
        """A new stream for one writer."""
        return self.streams(self, Writer(self, process, clock, entropy, guids))

    def decode(self, keys: Keys) -> Decoded:
        """Reads the time and the fields that the description names; NothingToRead if it names none. UsageError for keys
        of another form, and for another version or variant where the description names one."""
        description = self.description
        numbers = self.numbers(keys) if description.reads or description.read_version else {}
        if not numbers:  # nothing is named; `numbers` has refused keys of another version even so
            return super().decode(keys)
        time = numbers.pop("time", None)
        return Decoded(None if time is None else description.ticks(time), numbers)

    def numbers(self, keys: Keys) -> dict[str, Ints]:
        """The numbers that the description names (`Description.reads`), each int64 (n,). UsageError for keys of another
        form, and for another version or variant where the description names one."""
        description = self.description
        if self.kind == "uuid":
            require_guids(keys)
        else:
            require_form(self.name, keys, self.kind, self.key_bytes)
        data, parts = self.bits_read(keys), description.read_parts
        if description.read_version:
            stamps = [part for part in parts if part.letter in "VX"]  # version and variant
            wrong = np.any([numbers_of_parts(data, parts, stamp.letter) != stamp.value for stamp in stamps], axis=0)
            refuse_keys(self.name, keys, wrong, f"version and variant are not those of {description.read_version}")
        return {name: numbers_of_parts(data, parts, letters) for name, letters in description.reads.items()}

    def bits_read(self, keys: Keys) -> Bytes:
        """The keys as `Description.read_diagram` lists their bits: uint8 (n, width)."""
        if keys.kind == "int":
            return keys.data.astype(">i8").view(np.uint8).reshape(-1, 8)
        return keys.data  # type: ignore[return-value]


AnyLayout = TypeVar("AnyLayout", bound=WriterLayout)


class WriterStream(Stream, Generic[AnyLayout]):
    """A stream of keys of a layout, with a writer's sources."""

    def __init__(self, layout: AnyLayout, writer: Writer) -> None:
        self.layout = layout
        self.writer = writer


@dataclass(frozen=True, kw_only=True)
class StreamLayout(WriterLayout):
    """A layout that needs no class of its own: it has a description and a class for its streams."""

    streams: type[WriterStream[Any]]


class ChunkStream(WriterStream[AnyLayout]):
    """A stream of keys of any one kind, made a chunk at a time."""

    def take(self, n: int) -> Keys:
        """The next n keys."""
        first = self.chunk(min(CHUNK, n))  # it shows the shape and the type of all
        if n <= CHUNK:
            return Keys(first, self.layout.kind)
        data = np.empty((n, *first.shape[1:]), first.dtype)
        data[:CHUNK] = first
        for start in range(CHUNK, n, CHUNK):
            part = data[start : start + CHUNK]
            part[:] = self.chunk(len(part))
        return Keys(data, self.layout.kind)

    @abstractmethod
    def chunk(self, n: int) -> Bytes | Ints:
        """The next n keys, n at most CHUNK: fresh uint8 (n, width), or int64 (n,)."""


class GuidStream(ChunkStream[AnyLayout]):
    """A stream of GUIDs: a subclass puts them into an array that exists already."""

    def chunk(self, n: int) -> Bytes:
        """The next n GUIDs."""
        data = np.empty((n, 16), np.uint8)
        self.fill(data)
        return data

    @abstractmethod
    def fill(self, data: Bytes) -> None:
        """Puts the next n GUIDs into `data`: uint8 (n, 16), contiguous, in RFC order."""


class _Stateless(ChunkStream["ChunkLayout"]):
    """A stream that keeps nothing: its layout makes each chunk."""

    def chunk(self, n: int) -> Bytes | Ints:
        return self.layout.chunk(n, self.writer)


class ChunkLayout(WriterLayout):
    """Keys of any kind that depend on nothing but the writer's sources."""

    streams: type[WriterStream[Any]] = _Stateless

    @abstractmethod
    def chunk(self, n: int, writer: Writer) -> Bytes | Ints:
        """The next n keys, n at most CHUNK, from the writer's sources: fresh uint8 (n, width), or int64 (n,)."""


class GuidLayout(ChunkLayout):
    """GUIDs that depend on nothing but the writer's sources."""

    def chunk(self, n: int, writer: Writer) -> Bytes:
        """The next n GUIDs."""
        data = np.empty((n, 16), np.uint8)
        self.fill(data, writer)
        return data

    @abstractmethod
    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next n GUIDs from the writer's sources into `data`: uint8 (n, 16), contiguous, in RFC order."""


@dataclass(frozen=True)
class TwoFormLayout(WriterLayout):
    """A layout with two forms: as it is, and after `.ToSqlGuid()` for SQL Server's uniqueidentifier."""

    for_sql: bool = False

    def plain(self, keys: Keys) -> Keys:
        """The keys before `.ToSqlGuid()`, as the original's readers expect them."""
        if not self.for_sql or keys.kind != "uuid":  # `numbers` refuses keys of other kinds
            return keys
        data = keys.data.copy()
        from_sql_guid(data)  # type: ignore[arg-type]
        return Keys(data, "uuid")

    def bits_read(self, keys: Keys) -> Bytes:
        """The bits of the plain form."""
        return super().bits_read(self.plain(keys))


TwoForms = TypeVar("TwoForms", bound=TwoFormLayout)


class TwoFormStream(GuidStream[TwoForms]):
    """A stream of either form."""

    def fill(self, data: Bytes) -> None:
        """The next n keys, in the layout's form."""
        self.fill_plain(data)
        if self.layout.for_sql:
            to_sql_guid(data)

    @abstractmethod
    def fill_plain(self, data: Bytes) -> None:
        """Puts the next n keys, before `.ToSqlGuid()`, into `data`."""
