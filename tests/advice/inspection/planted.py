"""Databases with known keys: over 60 tables, each with a layout or mixture of layouts that `inspect` must name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_DAY, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.model.byteorder import stored
from keybench.model.keys import Keys

NOW = 639_309_024_000_000_000  # 2026-11-22
FEW = ("t_v4", "t_v7", "t_switched", "t_int")
"""Tables for short tests."""
LONG = 4_000
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
    goes: str
    """Where new rows go, if the server shows the order of arrival."""
    parent: str = ""
    first: NDArray[np.int64] | None = None
    """The column `first` of a key of two columns."""
    sql_type: str = ""
    """Of the key on PostgreSQL, if it is not the usual one for such keys."""
    urgent: str = ""
    """What is urgent about it, in part."""


FAMILIES = {
    "uuid-v1": "places", "uuid-v6": "end", "uuid-v8-time": "end", "ulid": "end", "nhibernate-comb": "anywhere",
    "rt-comb-postgresql": "end", "morris": "anywhere", "objectid": "end", "ksuid": "end", "xid": "end",
    "cuid2": "anywhere", "nanoid": "anywhere", "pushid": "end", "buvinghausen-v7": "end", "pomelo-mysql": "end",
    "marten-2016": "anywhere", "jhtodd-string": "end", "masstransit-newid-process": "anywhere",
    "oracle-sys-guid": "end", "hotguid": "end", "flakeid": "end", "percona-ordered-uuid": "end", "sonyflake": "end",
    "instagram": "end", "tsid-text": "end", "xid-text": "end", "ksuid-text": "end",
}  # fmt: skip
"""Layouts of the tables `f_…`, and where their new rows go."""


def tables(rows: int) -> Mapping[str, Planted]:
    """The tables, most of so many rows."""
    every = instants(rows)
    v4, v7 = made("uuid-v4", every), made("uuid-v7", every)
    child = Keys(np.sort(np.random.default_rng(5).permutation(rows).astype(np.intp)).astype(np.int64) + 1, "int")
    tenants = np.random.default_rng(6).integers(1, 41, rows)
    late = Keys(np.concatenate([v7.data, made("uuid-v7", every[: rows // 50] + 2 * _YEAR).data]), "uuid")
    high = Keys(np.arange(1, rows + 1) + 2_100_000_000, "int")
    both = {"uuid-v4": 0.5, "uuid-v7": 0.5}
    return MappingProxyType(
        {
            "t_v4": Planted(v4, {"uuid-v4": 1}, "anywhere"),
            "t_v7": Planted(v7, {"uuid-v7": 1}, "end"),
            "t_comb": Planted(made("rt-comb-sql", every), {"rt-comb-sql": 1}, "anywhere"),
            "t_legacy": Planted(made("rt-comb-legacy", every), {"rt-comb-legacy": 1}, "anywhere"),
            "t_efcore": Planted(in_turns("efcore-sequential", rows, 4), {"efcore-sequential": 1}, "anywhere"),
            "t_ulid": Planted(made("ulid-text", every), {"ulid-text": 1}, "end"),
            "t_snowflake": Planted(made("snowflake", every), {"snowflake": 1}, "end"),
            "t_newseq": Planted(made("newsequentialid", every), {"newsequentialid": 1}, "anywhere"),
            "t_switched": Planted(one_after_another("uuid-v4", "uuid-v7", rows), both, "between"),
            "t_mixed": Planted(_shuffled(rows), {"uuid-v4": 0.7, "rt-comb-postgresql": 0.3}, "anywhere"),
            "t_int": Planted(Keys(np.arange(1, rows + 1), "int"), {"bigint-identity": 1}, "end"),
            "t_child": Planted(child, {"bigint-identity": 1}, "end", parent="t_int"),
            "50% [red]back": Planted(one_after_another("uuid-v7", "uuid-v4", rows), both, "anywhere"),
            "t_combed": Planted(
                one_after_another("rt-comb-postgresql", "uuid-v7", rows),
                {"rt-comb-postgresql": 0.5, "uuid-v7": 0.5},
                "end",
            ),
            "t_ahead": Planted(late, {"uuid-v7": 1}, "between", urgent="a clock was ahead: 2 % of the"),
            "t_full": Planted(
                high, {"bigint-identity": 1}, "end", sql_type="integer", urgent="is at 2.1 billion of 2.15 billion"
            ),
            "t_text": Planted(v4, {"uuid-v4": 1}, "anywhere", sql_type="character(36)"),
            "c_v7": Planted(v7, {"uuid-v7": 1}, "places", first=tenants),
            "c_v4": Planted(v4, {"uuid-v4": 1}, "anywhere", first=tenants),
            "c_dated": Planted(v4, {"uuid-v4": 1}, "end", first=np.arange(rows)),
            **{f"f_{name}": Planted(made(name, every), {name: 1}, goes) for name, goes in FAMILIES.items()},
            **_integers(rows),
            **_spelled(rows),
            **_switched(rows),
        }
    )


def _integers(rows: int) -> Mapping[str, Planted]:
    """Counters with gaps and below 0, two layouts in one column, numbers of no layout, and tables of a row or none."""
    rng, count, identity = np.random.default_rng(7), np.arange(rows), {"bigint-identity": 1.0}
    snowflakes = made("snowflake", instants(rows - rows // 2, 0.5)).data
    return {
        "i_gaps": Planted(Keys(np.cumsum(rng.integers(1, 1_000, rows)), "int"), identity, "end"),
        "i_deleted": Planted(Keys(np.flatnonzero(rng.random(2 * rows) < 0.3), "int"), identity, "end"),
        "i_negative": Planted(Keys(count - (1 << 31), "int"), identity, "end", sql_type="integer"),
        "i_around_0": Planted(Keys(count - rows // 2, "int"), identity, "end"),
        "i_random": Planted(Keys(rng.integers(-(1 << 63), (1 << 63) - 1, rows), "int"), {}, "anywhere"),
        "i_switched": Planted(
            Keys(np.concatenate([count[: rows // 2] + 1, snowflakes]), "int"),
            {"bigint-identity": 0.5, "snowflake": 0.5},
            "end",
        ),
        "i_empty": Planted(Keys(count[:0], "int"), {}, "end"),
        "i_one": Planted(Keys(count[:1] + 1, "int"), {}, "end"),
        "u_empty": Planted(made("uuid-v7", instants(rows)[:0]), {}, "end"),
        "c_count": Planted(Keys(count + 1, "int"), identity, "places", first=rng.integers(1, 41, rows)),
    }


def _spelled(rows: int) -> Mapping[str, Planted]:
    """Tables whose names need quotes, with keys in columns of another kind."""
    every = instants(rows)
    v4, v7, net = made("uuid-v4", every), made("uuid-v7", every), made("rt-comb-oracle", every)
    digits = Keys(np.array([list(row.tobytes().hex().encode()) for row in v7.data], np.uint8), "text")
    upper = Keys(np.array([list(str(UUID(bytes=row.tobytes())).upper().encode()) for row in v4.data], np.uint8), "text")
    return {
        "select": Planted(digits, {"uuid-v7": 1}, "end"),
        "Upper Case": Planted(upper, {"uuid-v4": 1}, "anywhere"),
        'a"b': Planted(v4, {"uuid-v4": 1}, "anywhere", sql_type="bytea"),
        "a.b'c": Planted(v7, {"uuid-v7": 1}, "end", sql_type="bytea"),
        "user; --": Planted(
            Keys(np.asarray(stored(net, "net")), "uuid"), {"rt-comb-oracle": 1}, "end", sql_type="bytea"
        ),
        "☺ ключ": Planted(v7, {"uuid-v7": 1}, "end", sql_type="character(36)"),
    }


def _switched(rows: int) -> Mapping[str, Planted]:
    """Two layouts, one after the other (`s_`) or side by side (`m_`)."""
    pairs = {
        "s_ulid": ("uuid-v4", "ulid", "between"),
        "s_v1": ("uuid-v1", "uuid-v7", "between"),
        "s_comb": ("uuid-v4", "rt-comb-sql", "anywhere"),
        "s_monotonic": ("uuid-v4", "ulid-monotonic", "between"),
    }
    after = {
        name: Planted(one_after_another(old, new, rows), {old: 0.5, new: 0.5}, goes)
        for name, (old, new, goes) in pairs.items()
    }
    beside = {
        f"m_{new}": Planted(_shuffled(rows, old, new), {old: 0.7, new: 0.3}, "anywhere")
        for old, new in (("uuid-v4", "uuid-v1"), ("uuid-v7", "rt-comb-sql"), ("uuid-v6", "uuid-v4"))
    }
    return {**after, **beside}


def _shuffled(rows: int, old: str = "uuid-v4", new: str = "rt-comb-postgresql") -> Keys:
    """Two layouts side by side."""
    cut = int(rows * 0.7)
    data = np.empty((rows, 16), np.uint8)
    first = np.random.default_rng(3).permutation(rows) < cut
    data[first] = made(old, instants(cut)).data
    data[~first] = made(new, instants(rows - cut)).data
    return Keys(data, "uuid")


def values(keys: Keys, *, text: bool = False) -> Iterator[bytes | str | int]:
    """Keys as drivers take them: bytes, text or integers. `text`: GUIDs as text."""
    if keys.kind == "int":
        yield from keys.data.tolist()
    else:
        for row in keys.data:
            value = row.tobytes()
            yield (
                value.decode()
                if keys.kind == "text"
                else str(UUID(bytes=value))
                if text and keys.kind == "uuid"
                else value
            )
