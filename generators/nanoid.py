"""NanoID (github.com/ai/nanoid): 21 random characters of an alphabet of 64.

Character map: c0 … c20 R, each the alphabet's character for a byte's low six bits: 126 random bits. 21 bytes of entropy
a key, in the order of the characters (`nanoid()` since version 4; earlier versions took them from the end). The
alphabet is the package's own and not sorted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.description import Description
from keybench.generators.core.stream import ChunkLayout, Writer
from keybench.model.keys import Bytes

ALPHABET: Final = b"useandom-26T198340PX75pxJACKVERYMINDBUSHWOLF_GQZbfghjklqvwyzrict"
_LETTERS: Final = np.tile(np.frombuffer(ALPHABET, np.uint8), 4)
_CHARACTERS: Final = 21


class NanoId(ChunkLayout):
    """NanoIDs of the package's default length and alphabet."""

    reads_clock = "never"

    def chunk(self, n: int, writer: Writer) -> Bytes:
        """The next n keys."""
        return _LETTERS[writer.entropy.take(n, _CHARACTERS)]


LAYOUTS = (
    NanoId(
        "nanoid",
        "NanoID, 21 characters: 126 random bits, no order at all",
        "github.com/ai/nanoid",
        order="none",
        kind="text",
        description=Description(
            "R21",
            alphabets={"R": ALPHABET.decode()},
            caveats=("every key goes to a random place of the index", "needs a binary collation, because case matters"),
        ),
    ),
)
