"""Firebase's push ID: milliseconds and 72 random bits as 20 characters, in an alphabet of 64 in ASCII order.

Character map: c0 … c7 T Unix milliseconds, 6 bits a character   c8 … c19 R. Alphabet: - 0–9 A–Z _ a–z.

A key whose millisecond differs from the last key's draws R: the first six bits of each of 12 bytes of entropy (upstream
takes floor(64 · random) for each character). A key of the same millisecond adds one to the last key's 72 bits, which
wrap without an error. When the clock steps back, keys have the earlier millisecond, and their order breaks.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.alphabets import PUSH64, bits_of_text, text_of_bits
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.counters import NEVER, run_values
from keybench.generators.core.description import Description
from keybench.generators.core.instants import UNIX_MILLISECONDS
from keybench.generators.core.layout import Decoded, require_form
from keybench.generators.core.stream import ChunkStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Keys

_CHARACTERS: Final = 20
_HALF: Final = 36
_HALF_MASK: Final = (1 << _HALF) - 1


class PushIds(ChunkStream["PushId"]):
    """The keys of one client; the state is the last millisecond and the last 72 bits, in two halves."""

    def __init__(self, layout: PushId, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._time, self._high, self._low = NEVER, 0, 0

    def chunk(self, n: int) -> Bytes:
        """The next n keys; UsageError before 1970 and beyond 48 bits of milliseconds."""
        milliseconds = self.writer.unix_milliseconds(n)
        starts = np.flatnonzero(np.diff(milliseconds, prepend=self._time))
        drawn = self.writer.entropy.take(len(starts), 12).astype(np.int64) >> 2
        places = 6 * np.arange(5, -1, -1)
        heads = (drawn[:, 6:] << places).sum(axis=1)
        tops = np.concatenate([[self._high], (drawn[:, :6] << places).sum(axis=1)])
        low = run_values(heads, starts, self._low, n)
        high = np.repeat(tops, np.diff(starts, prepend=0, append=n)) + (low >> _HALF) & _HALF_MASK
        low &= _HALF_MASK
        if n:
            self._time, self._high, self._low = int(milliseconds[-1]), int(high[-1]), int(low[-1])
        return text_of_bits(
            (milliseconds << 8 | high >> 28).view(np.uint64),
            (high << _HALF | low).view(np.uint64),
            6,
            _CHARACTERS,
            PUSH64,
        )


class PushId(WriterLayout):
    """Push IDs of one client."""

    streams = PushIds

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond; UsageError for a text that is not a push ID."""
        require_form(self.name, keys, "text", _CHARACTERS)
        milliseconds = bits_of_text(self.name, keys, 6, PUSH64)[0] >> np.uint64(8)
        return Decoded(milliseconds.view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)


LAYOUTS = (
    PushId(
        "pushid",
        "Firebase's push ID, 20 characters: milliseconds, then 72 random bits that count up within a millisecond",
        "Firebase blog, the 2^120 ways to ensure unique identifiers; its gist",
        order="rfc",
        kind="text",
        description=Description(
            "T8 N12",
            {
                "T": "milliseconds since 1970, 6 bits a character",
                "N": "random in each millisecond's first key, then plus one a key",
            },
            within="forward",
            across="by time",
            random="",
            alphabets={"T": PUSH64.decode(), "N": PUSH64.decode()},
            time=UNIX_MILLISECONDS,
            caveats=(
                "sorts in a binary collation only: others ignore case and sort - and _ elsewhere",
                "the next key of the same millisecond can be guessed",
            ),
        ),
    ),
)
