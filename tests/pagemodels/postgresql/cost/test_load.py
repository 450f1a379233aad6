"""A load's cost, beside the same rules in plain Python, and the log's records beside those of servers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.postgresql.engine import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, Server
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.postgresql.cost import checkpoints
from keybench.pagemodels.postgresql.cost.load import HeapIndexModel
from tests.pagemodels.postgresql.cost.reference import Reference

SHARE = 1 / 1024
"""Segments of 16 KB."""


def small() -> HeapIndexModel:
    """With few entries and rows on a page."""
    model = ENGINE.page_model(Table("t", ENGINE.default_column("uuid"), 10))
    assert isinstance(model, HeapIndexModel)
    rule = Rule(room=5, room_last=6, keep_append=5, keep_edge=5, keep_interior=3)
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
)
def test_a_load_costs_what_it_does_in_plain_python(
    n: int, seed: int, writers: int, per_tx: int, spread: int, buffers: int, segments: int, durable: bool
) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    ranks = np.argsort(np.argsort(np.arange(n) + random.integers(0, spread + 1, n), kind="stable"), kind="stable")
    by = random.integers(0, writers, n).astype(np.int16)
    by[: min(n, writers)] = np.arange(min(n, writers))
    load, model, at = Load(ranks, [n // 2, n], per_tx, by), small(), int(random.integers(0, 1 << 20))
    server = Server(
        cache_bytes=buffers * 8192 * 1024, checkpoint_bytes=round(segments * 1.9 + 0.5) << 24, durable=durable,
        log_position=at, share=SHARE,
    )  # fmt: skip
    distance = int(server.checkpoint_bytes / (16 << 20) / 1.9), int(checkpoints.USABLE * SHARE)
    plain = Reference(model, load, buffers, distance, durable, checkpoints.usable(at)).run()
    cost = model.load_cost(load, server)
    assert cost.written is not None
    assert cost.log is not None
    wanted = np.array(plain.counted).T
    own = [
        *(cost.read.leaf, cost.read.branch, cost.read.table),
        *(cost.written.leaf, cost.written.branch, cost.written.table),
        *(cost.log.images, cost.log.image_bytes),
    ]
    assert [np.cumsum(each).tolist() for each in own] == wanted[:8].tolist()
    assert np.cumsum(cost.log.checkpoints).tolist() == wanted[9].tolist()
    begin = checkpoints.places(np.array([checkpoints.usable(at)]))
    assert (np.cumsum(cost.log.bytes) + begin).tolist() == checkpoints.places(wanted[8]).tolist()
