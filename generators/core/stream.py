"""What streams share: a writer's sources, and making keys in chunks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.generators.core.clock import Clock
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.guids import Guids, ProvidedGuids, RandomGuids
from keybench.generators.core.layout import GuidProvider, Layout, NameProvider, Stream
from keybench.generators.core.loops.loading import load_kernels
from keybench.generators.core.process import Process
from keybench.model.keys import Bytes, Ints, Keys, Kind

CHUNK: Final = 32_768
"""Keys made at once: 512 KiB stay in a cache near the core between passes, and are enough that calls cost little."""


@dataclass(frozen=True, eq=False)
class Writer:
    """All sources that a stream can use. `guids` gives random version 4 GUIDs unless replaced."""

    process: Process
    clock: Clock
    entropy: Entropy
    guids: Guids
    names: NameProvider | None


class WriterLayout(Layout):
    """A layout whose streams take the sources that they need from a `Writer`."""

    def stream(
        self,
        process: Process,
        clock: Clock,
        entropy: Entropy,
        *,
        guids: GuidProvider | None = None,
        names: NameProvider | None = None,
    ) -> Stream:
        """A new stream for one writer."""
        source = RandomGuids(entropy) if guids is None else ProvidedGuids(guids)
        return self.start(Writer(process, clock, entropy, source, names))

    @abstractmethod
    def start(self, writer: Writer) -> Stream:
        """A new stream with the sources of `writer`."""


class GuidStream(Stream):
    """A stream of GUIDs, made a chunk at a time."""

    def take(self, n: int) -> Keys:
        """The next n GUIDs."""
        load_kernels(n)
        data = np.empty((n, 16), np.uint8)
        for start in range(0, max(n, 1), CHUNK):
            self.fill(data[start : start + CHUNK])
        return Keys(data, "uuid")

    @abstractmethod
    def fill(self, data: Bytes) -> None:
        """Puts the next n GUIDs into `data`: uint8 (n, 16), contiguous, n at most CHUNK, in RFC order."""


class ChunkStream(Stream):
    """A stream of keys of any one kind, made a chunk at a time."""

    kind: Kind

    def take(self, n: int) -> Keys:
        """The next n keys."""
        load_kernels(n)
        first = self.chunk(min(CHUNK, n))
        if n <= CHUNK:
            return Keys(first, self.kind)
        data = np.empty((n, *first.shape[1:]), first.dtype)
        data[:CHUNK] = first
        for start in range(CHUNK, n, CHUNK):
            part = data[start : start + CHUNK]
            part[:] = self.chunk(len(part))
        return Keys(data, self.kind)

    @abstractmethod
    def chunk(self, n: int) -> Bytes | Ints:
        """The next n keys: fresh uint8 (n, width), or int64 (n,)."""
