"""The data that a trial stores for pictures, beside its values and series: samples that stay small for any number of
rows.

A blob is a few arrays of equal length and facts about them, stored as a line of JSON and the arrays' bytes, compressed
by zlib. Only the first block of a run has blobs: pictures show one block, and the other blocks would look the same.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keybench.model import parsers
from keybench.model.keys import Ints
from keybench.model.reading import Origin

MOST_LEAVES: Final = 4_096
"""Maximum number of leaf pages in a page map. Of a larger index, this many are kept, evenly spaced in key order."""

MOST_POINTS: Final = 4_000
"""Maximum number of insertions whose position is kept."""

PAGES: Final = "pages"
"""The kind of a page map that was read from a server."""

MODEL_PAGES: Final = "pages: model"
"""The kind of a page map that a page model predicts."""

POSITIONS: Final = "positions"
"""The kind of a blob with the positions of sampled insertions."""

COST: Final = "cost: model"
"""The kind of a blob with the pages read and written and the log of a load, as a page model predicts them."""


@dataclass(frozen=True)
class Blob:
    """Named arrays and facts about them, in stored form; they are unpacked on first use."""

    kind: str
    content: bytes

    @staticmethod
    def pack(kind: str, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Blob:
        """Packs arrays of numbers, each (n,), and facts that JSON can hold."""
        # little-endian on every machine
        little = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
        forms = [[name, array.dtype.str, len(array)] for name, array in little.items()]
        head = json.dumps({"about": dict(about), "arrays": forms}).encode() + b"\n"
        return Blob(kind, zlib.compress(head + b"".join(array.tobytes() for array in little.values()), 9))

    @cached_property
    def _parts(self) -> tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]:
        """(the facts, the arrays in the machine's byte order)."""
        first_line, _, body = zlib.decompress(self.content).partition(b"\n")
        head, arrays, offset = parsers.from_json(first_line.decode()), {}, 0
        for name, form, count in head["arrays"]:
            dtype = np.dtype(form)
            arrays[name] = np.frombuffer(body, dtype, count, offset).astype(dtype.newbyteorder("="))
            offset += dtype.itemsize * count
        return head["about"], arrays

    def unpack(self) -> None:
        """Unpacks it now. Raises ValueError, TypeError, LookupError or zlib.error if it is damaged."""
        _ = self._parts

    @property
    def about(self) -> Mapping[str, Any]:
        """The facts."""
        return self._parts[0]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays."""
        return self._parts[1]


def page_map(numbers: NDArray[np.int64], rows: NDArray[np.int64], origin: Origin, note: str = "") -> Blob:
    """The leaf level of an index. `numbers` and `rows`: the page number of each leaf and the rows on it, in key order,
    both (n,).

    Arrays: `place` of the leaf in key order, its page `number`, its `rows`. Facts: number of `leaves`, their `first`
    and `last` page number, `origin`, and any doubt (`note`). The kind is `PAGES` if measured, else `MODEL_PAGES`.
    """
    places = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), MOST_LEAVES)).round().astype(np.int64))
    ends = {"first": int(numbers.min()), "last": int(numbers.max())} if len(numbers) else {"first": 0, "last": 0}
    return Blob.pack(
        PAGES if origin == "measured" else MODEL_PAGES,
        {"leaves": len(numbers), **ends, "origin": origin, "note": note},
        {
            "place": places.astype(np.uint32),
            "number": numbers[places].astype(np.uint32),
            "rows": rows[places].astype(np.uint32),
        },
    )


def positions(
    writers: Sequence[str], owner: Ints, seconds: NDArray[np.float64], shares: NDArray[np.float64], note: str = ""
) -> Blob:
    """The positions at which keys were inserted. Of each row in order of arrival: `owner`, the index of its writer; its
    time in `seconds` of the scenario; of the keys present, the share above it (`shares`), from 0 to 1. All are (n,).

    The rows are divided into `MOST_POINTS` equal parts, and one row of each part is drawn at random: if writers take
    turns, a sample of every nth row could show only one of them. Arrays: `row` (place in the order of arrival),
    `second`, `above`, `writer`. Facts: `rows`, the `writers`' ids, and any doubt about the order of arrival (`note`).
    """
    edges = np.linspace(0, len(owner), min(len(owner), MOST_POINTS) + 1).astype(np.int64)
    rng = np.random.Generator(np.random.PCG64(1))  # always the same seed: equal trials give equal blobs
    chosen = rng.integers(edges[:-1], edges[1:]) if len(owner) else edges[:0]  # no rows: none
    return Blob.pack(
        POSITIONS,
        {"rows": len(owner), "writers": list(writers), "note": note},
        {
            "row": chosen.astype(np.uint32),
            "second": seconds[chosen].astype(np.float32),
            "above": shares[chosen].astype(np.float32),
            "writer": owner[chosen].astype(np.uint16),
        },
    )


def load_cost(rows: NDArray[np.int64], so_far: Mapping[str, NDArray[np.int64]], cache_bytes: int, note: str) -> Blob:
    """What a load costs up to each number of `rows`; `so_far` is by name of the metric (`pages_read`); all (n,).

    Arrays: `rows`, and those of `so_far`, which lacks the metrics that the model does not know. Facts: `cache_bytes` of
    the server, and any doubt about the order of arrival (`note`).
    """
    return Blob.pack(COST, {"cache_bytes": cache_bytes, "note": note}, {"rows": rows, **so_far})
