"""The tables of a trial: the writers are divided among them by their shard keys."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.databases.registry import engine
from keybench.generators.core.layout import layout
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import divide, keys_in_order, table_of_each_writer, writers_in_order
from keybench.scenarios.files import load_scenario, parse_scenario
from keybench.scenarios.schema import Scenario

TABLE = Table("rows", engine("sqlite").column("binary16"), 100)


def sources(work: Scenario, name: str, rows: int = 400) -> tuple[KeySource, ...]:
    request = Request(("sqlite",), {"sqlite": "embedded"}, work, (name,), (), rows, 1, "fast", 3, 60.0)
    return key_sources(request, TrialPlan(1, 0, "sqlite", name, "binary16", 100, rows))


def test_writers_go_to_the_table_with_the_number_shard_modulo_tables() -> None:
    own = sources(load_scenario("sharded"), "uuid-v7")
    four = divide(TABLE, own, 4)
    assert [(part.table.name, part.writers) for part in four] == [
        ("rows_1", (3,)),
        ("rows_2", (0,)),
        ("rows_3", (1,)),
        ("rows_4", (2,)),
    ]
    assert [table.name for table in table_of_each_writer(four)] == ["rows_2", "rows_3", "rows_4", "rows_1"]
    assert [part.sources for part in four] == [(own[3],), (own[0],), (own[1],), (own[2],)]
    two = divide(TABLE, own, 2)
    assert [part.writers for part in two] == [(1, 3), (0, 2)]
    (one,) = divide(TABLE, own, 1)
    assert (one.table, one.writers, one.sources) == (TABLE, (0, 1, 2, 3), own)


@pytest.mark.parametrize("name", ["hotguid", "hotguid-sql"])
def test_hotguid_carries_the_shard_of_its_writer(name: str) -> None:
    for number, source in enumerate(sources(load_scenario("sharded"), name), start=1):
        keys = source.stream().take(source.writer.rows)
        assert set(np.asarray(layout(name).decode(keys).fields["shard"]).tolist()) == {number}
    for source in sources(load_scenario("azure-lag"), name):
        assert not np.any(layout(name).decode(source.stream().take(5)).fields["shard"])


@pytest.mark.parametrize("name", ["hotguid", "hotguid-sql", "uuid-v7"])
def test_rows_with_shards_of_their_own_go_to_the_tables_of_these(name: str) -> None:
    work = load_scenario("sharded-rows")
    together = sources(work.model_copy(update={"table": work.table.model_copy(update={"shards": 1})}), name)
    parts = sources(work, name)
    assert [part.writer.id for part in parts[:4]] == [f"web-1 in table {i}" for i in (1, 2, 3, 4)]
    assert len(parts) == work.connections == 16
    tables = divide(TABLE, parts, 4)
    assert [table.writers for table in tables] == [tuple(range(i, 16, 4)) for i in range(4)]
    for writer, whole in enumerate(together):
        own = parts[4 * writer : 4 * writer + 4]
        keys = whole.stream().take(whole.writer.rows)
        shards = whole.writer.row_shards
        assert shards is not None
        assert set(shards.tolist()) == {1, 2, 3, 4}
        for table, part in enumerate(own):
            chosen = np.flatnonzero(shards % 4 == table)
            assert np.array_equal(part.stream().take(part.writer.rows).data, keys[chosen].data)
            assert part.planned.tolist() == whole.planned[chosen].tolist()
            assert part.created().tolist() == whole.created()[chosen].tolist()
        assert np.sum([part.writer.phases for part in own], axis=0).tolist() == list(whole.writer.phases)
        if name != "uuid-v7":
            assert np.asarray(layout(name).decode(keys).fields["shard"]).tolist() == shards.tolist()


def test_the_shards_of_rows_outlive_a_restart() -> None:
    text = """
title = "t"
rows = 400
start = 2026-01-01T00:00:00Z
[[writer]]
id = "a"
rate = 100
restarts = [1, 2]
shards = [5, 70000]
"""
    (source,) = sources(parse_scenario("mine", text, where="mine"), "hotguid")
    assert len(source.writer.processes) == 3
    decoded = layout("hotguid").decode(source.stream().take(400)).fields["shard"]
    assert source.writer.row_shards is not None
    assert np.asarray(decoded).tolist() == source.writer.row_shards.tolist()


def test_each_row_has_the_writer_that_makes_its_key() -> None:
    own = sources(load_scenario("azure-lag"), "uuid-v7")
    keys, writers = keys_in_order(own), writers_in_order(own)
    assert len(writers) == len(keys) == 400
    for number, source in enumerate(own):
        assert np.array_equal(keys.data[writers == number], source.stream().take(source.writer.rows).data)
