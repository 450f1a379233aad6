"""What a trial keeps for pictures beside its values and series: samples, small at any number of rows.

A blob is a few equally long arrays and facts about them, in zlib of a line of JSON and the arrays' bytes. Only the
first block of a run has blobs: pictures show one block, and the others would look the same.
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

from keybench.model.reading import Origin

MOST_LEAVES: Final = 4_096
"""Most leaf pages of a page map; of a larger index this many, evenly spaced in key order."""

MOST_POINTS: Final = 4_000
"""Most insertions whose position is kept."""

PAGES: Final = "pages"
"""Kind of a server's own page map."""

MODEL_PAGES: Final = "pages: model"
"""Kind of the page map that the page model predicts."""

GROWTH: Final = "growth: model"
"""Kind of the leaf level along the load, as the page model predicts it."""

POSITIONS: Final = "positions"
"""Kind of sampled insertions."""


@dataclass(frozen=True)
class Blob:
    """Arrays by name and facts about them, as stored; they are unpacked on first use."""

    kind: str
    content: bytes

    @staticmethod
    def pack(kind: str, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Blob:
        """Packs arrays of numbers, each (n,), and facts that JSON can hold."""
        little = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
        forms = [[name, array.dtype.str, len(array)] for name, array in little.items()]
        head = json.dumps({"about": dict(about), "arrays": forms}).encode() + b"\n"
        return Blob(kind, zlib.compress(head + b"".join(array.tobytes() for array in little.values()), 9))

    @cached_property
    def _parts(self) -> tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]:
        head, _, body = zlib.decompress(self.content).partition(b"\n")
        known, arrays, at = json.loads(head), {}, 0
        for name, form, count in known["arrays"]:
            kind = np.dtype(form)
            arrays[name] = np.frombuffer(body, kind, count, at).astype(kind.newbyteorder("="))
            at += kind.itemsize * count
        return known["about"], arrays

    @property
    def about(self) -> Mapping[str, Any]:
        """The facts."""
        return self._parts[0]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays."""
        return self._parts[1]


def page_map(numbers: NDArray[np.int64], rows: NDArray[np.int64], origin: Origin, note: str = "") -> Blob:
    """The leaf level of an index in key order: the page number of each leaf, (n,), and the rows on it.

    Arrays: `place` of the leaf in key order, its page `number`, its `rows`. Facts: `leaves` in all, `first` and `last`
    page number of them, `origin`, and what is in doubt (`note`). `PAGES` where measured, else `MODEL_PAGES`.
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
    writers: Sequence[str],
    owner: NDArray[np.int64],
    seconds: NDArray[np.float64],
    shares: NDArray[np.float64],
    note: str = "",
) -> Blob:
    """Where keys went. For each row in order of arrival: its writer's index, its second of the scenario, and the share
    of the keys present above it, from 0 to 1; all (n,).

    One row of each of `MOST_POINTS` equal stretches is kept, drawn at random: if writers take turns, a sample of every
    nth row could show only one of them. Arrays: `row` (place in the order of arrival), `second`, `above`,
    `writer`. Facts: `rows`, the `writers`' ids, and what is in doubt about the order of arrival (`note`).
    """
    edges = np.linspace(0, len(owner), min(len(owner), MOST_POINTS) + 1).astype(np.int64)
    chosen = np.random.Generator(np.random.PCG64(1)).integers(edges[:-1], edges[1:]) if len(owner) else edges[:0]
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


def growth(
    rows: Sequence[int], leaf_pages: Sequence[int], interior_splits: Sequence[int], density: Sequence[float], note: str
) -> Blob:
    """The leaf level after numbers of `rows`, all (n,): pages, interior splits up to there, density in %.

    Arrays by these names; fact: what is in doubt about the order of arrival (`note`).
    """
    counts = {"rows": rows, "leaf_pages": leaf_pages, "interior_splits": interior_splits}
    arrays: dict[str, NDArray[Any]] = {name: np.array(values, np.int64) for name, values in counts.items()}
    return Blob.pack(GROWTH, {"note": note}, arrays | {"density": np.array(density, np.float32)})
