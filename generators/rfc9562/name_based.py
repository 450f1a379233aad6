"""UUIDs of RFC 9562 made of names: versions 3 and 5, and the RFC's example of version 8.

Byte map: r0 … r15 are the first 16 bytes of the digest of namespace and name; the version overwrites the high half of
r6, and the variant 10 the top two bits of r8:

uuid-v3        MD5       (§5.3)
uuid-v5        SHA-1     (§5.5)
uuid-v8-name   SHA-256   (§B.2)

The same name gives the same key, so keys are unique only if names are. Names come from the stream's name provider.
Without one, a stream takes its planned row numbers (`Process.row_numbers`) in decimal; they stand for natural keys that
no two writers share. Neither clock nor entropy is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import NAMESPACE_DNS, UUID

import numpy as np

from keybench.generators.core.bits import stamp_version
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, NameProvider, Stream
from keybench.generators.core.loops.hashes import Algorithm, Messages, digests
from keybench.generators.core.process import Process
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import require_version
from keybench.model.keys import Bytes, Ints, Keys


class RowNumbers:
    """The writer's planned row numbers in decimal, as names."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._position = 0

    def take(self, n: int) -> list[bytes]:
        """The next n names."""
        messages = self.messages(n)
        return [row[:length].tobytes() for row, length in zip(messages.data, messages.lengths, strict=True)]

    def messages(self, n: int) -> Messages:
        """The next n names, side by side."""
        numbers = self._process.row_numbers(self._position, n)
        self._position += n
        return decimal(numbers)


def decimal(numbers: Ints) -> Messages:
    """Numbers that are not negative, as decimal digits without leading zeros."""
    powers = np.uint64(10) ** np.arange(19, dtype=np.uint64)
    lengths = np.searchsorted(powers[1:], numbers.view(np.uint64), side="right") + 1
    width = int(lengths.max(initial=1))
    rest = numbers.view(np.uint64) * powers[width - lengths]
    data = np.empty((len(numbers), width), np.uint8)
    for column in reversed(range(width)):
        more = rest // np.uint64(10)
        data[:, column] = rest - more * np.uint64(10)
        rest = more
    data += ord("0")
    return Messages(data, lengths)


@dataclass(frozen=True, kw_only=True)
class Named(WriterLayout):
    """One version: the digest and the namespace of the names."""

    reads_clock = "never"

    version: int
    algorithm: Algorithm
    namespace: UUID = NAMESPACE_DNS

    def start(self, writer: Writer) -> Stream:
        """A stream over the writer's names."""
        return NamedUuids(self, writer.names or RowNumbers(writer.process))

    def decode(self, keys: Keys) -> Decoded:
        """Always an error: a digest cannot be read back. UsageError for a key of another version."""
        require_version(self.name, keys, self.version)
        return super().decode(keys)


class NamedUuids(GuidStream):
    """Digests of the provider's names."""

    def __init__(self, layout: Named, names: NameProvider) -> None:
        self._layout = layout
        self._names = names

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs."""
        n = len(data)
        names = (
            self._names.messages(n) if isinstance(self._names, RowNumbers) else Messages.from_texts(self._names.take(n))
        )
        digest = digests(self._layout.algorithm, names.with_prefix(self._layout.namespace.bytes))
        data[:] = digest[:, :16]
        stamp_version(data, self._layout.version)


def _description(version: int) -> Description:
    return Description(
        f"D48 V4:{version} E12 X2:2 F62",
        {
            "D": "digest of namespace and name, bits 0 to 47",
            "E": "digest, bits 52 to 63",
            "F": "digest, bits 66 to 127",
        },
        random="",
        uniqueness="plan",
        caveats=(
            "the same name gives the same key: keys are unique only if names are",
            "random to every index, as version 4",
        ),
    )


_SUMMARY: Final = "The {} of namespace and name: no order, and nothing can be read back"

LAYOUTS = (
    Named(
        "uuid-v3",
        _SUMMARY.format("MD5"),
        "RFC 9562 §5.3",
        order="none",
        version=3,
        algorithm="md5",
        description=_description(3),
    ),
    Named(
        "uuid-v5",
        _SUMMARY.format("SHA-1"),
        "RFC 9562 §5.5",
        order="none",
        version=5,
        algorithm="sha1",
        description=_description(5),
    ),
    Named(
        "uuid-v8-name",
        _SUMMARY.format("SHA-256"),
        "RFC 9562 §B.2",
        order="none",
        version=8,
        algorithm="sha256",
        description=_description(8),
    ),
)
