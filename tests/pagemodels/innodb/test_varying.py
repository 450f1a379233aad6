"""Rows of different lengths in InnoDB's model. Live servers: tests/databases/mysql/test_page_model.py."""

from dataclasses import fields

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.model.payload import PayloadLengths
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.innodb import leaf_memory
from keybench.pagemodels.innodb.model import InnodbStats
from keybench.pagemodels.innodb.records import payload_bytes


def modelled(
    payload: PayloadLengths | int, rows: int, stream: str, lengths, role: KeyRole, engine=ENGINE
) -> InnodbStats:
    column = engine.column("binary16")
    on = Table("trial", column, payload, role) if isinstance(payload, int) else None
    if isinstance(payload, PayloadLengths):
        on = Table("trial", column, payload.most, role, lengths=payload)
    keys = streams.keys(streams.STREAMS[stream](rows), column)
    return predict(engine.page_model(on), column, keys, (1, rows // 2), lengths=lengths)


def assert_same(stats: InnodbStats, wanted: InnodbStats) -> None:
    for part in fields(InnodbStats):
        one, other = getattr(stats, part.name), getattr(wanted, part.name)
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other, part.name


@pytest.mark.parametrize("engine", [ENGINE, MYSQL])
@pytest.mark.parametrize("role", ["clustered", "nonclustered"])
@pytest.mark.parametrize("stream", ["increasing", "descending", "random", "4 lagging by 0.5 %"])
def test_texts_of_one_length_make_the_same_pages_by_either_kernel(engine, role: KeyRole, stream: str) -> None:
    fixed = modelled(100, 12_000, stream, None, role, engine)
    assert_same(modelled(PayloadLengths(0, 100), 12_000, stream, np.full(12_000, 100), role, engine), fixed)


@pytest.mark.parametrize("stream", ["random", "descending"])
def test_memory_may_grow_at_any_row(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = PayloadLengths(0, 7000, "zipfian")
    lengths = payload.of((3,), np.arange(6000))
    wanted, grown = modelled(payload, 6000, stream, lengths, "clustered"), []
    monkeypatch.setattr(leaf_memory, "_FILL", 1e9)
    grow = leaf_memory.grow
    monkeypatch.setattr(leaf_memory, "grow", lambda leaves: (grown.append(len(leaves.slots)), grow(leaves)))
    assert_same(modelled(payload, 6000, stream, lengths, "clustered"), wanted)
    assert len(grown) > 3


def test_a_text_has_its_length_in_front() -> None:
    lengths = np.array([0, 127, 128, 255])
    assert payload_bytes(lengths, 255).tolist() == [1, 128, 129, 256]
    assert payload_bytes(lengths, 256).tolist() == [1, 128, 130, 257]
