"""The tables of a trial: the writers are divided among them by their shard keys."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.databases.registry import engine
from keybench.generators.core.layout import layout
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import divide, table_of_each_writer
from keybench.scenarios.files import load_scenario
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
