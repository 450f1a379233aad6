"""A load's cost, beside the same rules in plain Python, and the log's records beside those of servers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.postgresql.engine import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, Server
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.postgresql.cost import log
from keybench.pagemodels.postgresql.cost.limits import Limits, limits_of
from keybench.pagemodels.postgresql.cost.load import HeapIndexModel, count_costs
from keybench.pagemodels.postgresql.cost.log import BYTES
from tests.pagemodels.postgresql.cost.reference import Reference

SEGMENT = 16_000
"""Bytes of a segment, so that a few rows fill it."""


def small(room: int = 5) -> HeapIndexModel:
    """With few entries and rows on a page."""
    model = ENGINE.page_model(Table("t", ENGINE.default_column("uuid"), 10))
    assert isinstance(model, HeapIndexModel)
    rule = Rule(room=room, room_last=room + 1, keep_append=room, keep_edge=room, keep_interior=room // 2 + 1)
    branch = Rule(room=6, room_last=7, keep_append=5, keep_edge=5, keep_interior=3)
    return replace(model, leaf=rule, branch=branch, heap_rows=4, copy_rows=7)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 1200),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.sampled_from([1, 3, 10, 1000]),
    st.sampled_from([0, 20, 2000]),
    st.sampled_from([100, 130, 5000]),
    st.integers(2, 6),
    st.booleans(),
    st.sampled_from([0, 1, 7]),
    st.sampled_from([5, 60]),
)
def test_a_load_costs_what_it_does_in_plain_python(
    n: int,
    seed: int,
    writers: int,
    per_tx: int,
    spread: int,
    buffers: int,
    segments: int,
    durable: bool,
    flush_rows: int,
    room: int,
) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    ranks = np.argsort(np.argsort(np.arange(n) + random.integers(0, spread + 1, n), kind="stable"), kind="stable")
    by = random.integers(0, writers, n).astype(np.int16)
    by[: min(n, writers)] = np.arange(min(n, writers))
    load, model, at = Load(ranks, [n // 2, n], per_tx, by), small(room), int(random.integers(0, 1 << 20))
    server = Server(cache_bytes=0, checkpoint_bytes=round(segments * 1.9 + 0.5) << 24, durable=durable, log_position=at)
    own_limits = Limits(buffers, buffers // 8, SEGMENT, flush_rows)
    plain = Reference(model, load, own_limits, segments, durable, log.usable(at)).run()
    wanted = np.array(plain.counted).T
    counts = count_costs(model, load, server, own_limits)
    own = np.cumsum(counts, axis=1)
    assert np.delete(own, BYTES, axis=0).tolist() == np.delete(wanted, BYTES, axis=0).tolist()
    begin = log.places(np.array([log.usable(at)]))
    assert (own[BYTES] + begin).tolist() == log.places(wanted[BYTES]).tolist()


@pytest.mark.parametrize(
    ("cache", "rows_per_tx", "share", "expected"),
    [
        (1 << 30, 1000, 1.0, (131_072, 2048, 0)),
        (8 << 20, 1000, 1.0, (1024, 128, 0)),
        (1 << 30, 1000, 0.01, (1310, 2048, 10)),
        (1 << 30, 1_000_000, 0.01, (1310, 20, 10_000)),
    ],
)
def test_a_ring_is_an_eighth_of_the_buffers_at_most(
    cache: int, rows_per_tx: int, share: float, expected: tuple[int, int, int]
) -> None:
    found = limits_of(Server(cache_bytes=cache, share=share), rows_per_tx, 55)
    assert (found.buffers, found.ring, found.flush_rows) == expected
    assert found.segment == int(log.USABLE * share)
