"""Databases with known keys: twelve tables, each with a layout or mixture of layouts that `inspect` must name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_DAY, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys

NOW = 639_309_024_000_000_000  # 2026-11-22
FEW = ("t_v4", "t_v7", "t_switched", "t_int")
"""Tables for short tests."""
LONG = 10_000
"""Rows from which tests use all tables."""
_YEAR = 365 * TICKS_PER_DAY


def instants(rows: int, first: float = 0.0, last: float = 1.0) -> NDArray[np.int64]:
    """Readings over the last year, or over the part of it from `first` to `last`; bursts of twenty in a millisecond."""
    at = np.linspace(NOW - (1 - first) * _YEAR, NOW - (1 - last) * _YEAR, rows).astype(np.int64)
    return at - at % 10_000 if rows < 2 else np.repeat(at[::20], 20)[:rows] + np.arange(rows) % 20 * 300


def made(name: str, at: NDArray[np.int64], writer: int = 0, of: int = 1) -> Keys:
    """Keys of one writer at these readings."""
    process = Process(f"machine-{writer}", 4_000 + 17 * writer, index=writer, of=of)
    return layout(name).stream(process, VirtualClock(at), AesEntropy.seeded("planted", name, writer)).take(len(at))


def in_turns(name: str, rows: int, writers: int) -> Keys:
    """Keys of writers that each began on another day and take turns."""
    parts = []
    for writer in range(writers):
        begun = NOW - _YEAR + writer * 30 * TICKS_PER_DAY
        parts.append(made(name, np.full(rows // writers, begun, np.int64), writer, writers).data)
    turns = np.stack(parts, axis=1)
    return Keys(turns.reshape(-1, *turns.shape[2:]), layout(name).kind)


def one_after_another(first: str, second: str, rows: int, part: float = 0.5) -> Keys:
    """`part` of the rows of one layout, then the rest of another, without a gap in time."""
    cut = int(rows * part)
    return Keys.concat([made(first, instants(cut, 0, part)), made(second, instants(rows - cut, part, 1.0))])


@dataclass(frozen=True)
class Planted:
    """A table: its keys in order of arrival, and the layouts (one name of each group) with their shares."""

    keys: Keys
    shares: Mapping[str, float]
    parent: str = ""


def tables(rows: int) -> Mapping[str, Planted]:
    """Twelve tables of so many rows."""
    every = instants(rows)
    orders = made("uuid-v7", every)
    child = Keys(np.sort(np.random.default_rng(5).permutation(rows).astype(np.intp)).astype(np.int64) + 1, "int")
    return MappingProxyType(
        {
            "t_v4": Planted(made("uuid-v4", every), {"uuid-v4": 1}),
            "t_v7": Planted(orders, {"uuid-v7": 1}),
            "t_comb": Planted(made("rt-comb-sql", every), {"rt-comb-sql": 1}),
            "t_legacy": Planted(made("rt-comb-legacy", every), {"rt-comb-legacy": 1}),
            "t_efcore": Planted(in_turns("efcore-sequential", rows, 4), {"efcore-sequential": 1}),
            "t_ulid": Planted(made("ulid-text", every), {"ulid-text": 1}),
            "t_snowflake": Planted(made("snowflake", every), {"snowflake": 1}),
            "t_newseq": Planted(made("newsequentialid", every), {"newsequentialid": 1}),
            "t_switched": Planted(one_after_another("uuid-v4", "uuid-v7", rows), {"uuid-v4": 0.5, "uuid-v7": 0.5}),
            "t_mixed": Planted(_shuffled(rows), {"uuid-v4": 0.7, "rt-comb-postgresql": 0.3}),
            "t_int": Planted(Keys(np.arange(1, rows + 1), "int"), {"bigint-identity": 1}),
            "t_child": Planted(child, {"bigint-identity": 1}, parent="t_int"),
        }
    )


def _shuffled(rows: int) -> Keys:
    """Two layouts side by side."""
    cut = int(rows * 0.7)
    data = np.empty((rows, 16), np.uint8)
    first = np.random.default_rng(3).permutation(rows) < cut
    data[first] = made("uuid-v4", instants(cut)).data
    data[~first] = made("rt-comb-postgresql", instants(rows - cut)).data
    return Keys(data, "uuid")


def values(keys: Keys) -> Iterator[bytes | str | int]:
    """Keys as drivers take them: bytes, text or integers."""
    if keys.kind == "int":
        yield from keys.data.tolist()
    else:
        for row in keys.data:
            yield row.tobytes().decode() if keys.kind == "text" else row.tobytes()
