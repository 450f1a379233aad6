"""A request becomes trials and writers; the same request always the same ones."""

from dataclasses import replace
from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.registry import engine, engines
from keybench.generators.core.layout import layout, layouts
from keybench.model.names import CONTROL
from keybench.runners.planning.key_sources import key_sources
from keybench.runners.planning.trial_plan import Request, plan, resolve_layouts, rows_of
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.scenarios.files import load_scenario
from keybench.scenarios.schema import Scenario

QUICK = load_scenario("quick")


def request_for(scenario: Scenario = QUICK, **changes: object) -> Request:
    names, layouts = ("postgresql", "sqlite"), resolve_layouts(["uuid-v4", "rt-comb-sql"], scenario)
    base = Request(names, dict.fromkeys(names, "embedded"), scenario, layouts, (), None, 3, "durable", 7, 60.0)
    return replace(base, **changes)  # type: ignore[arg-type]


def test_a_request_survives_json() -> None:
    import json

    for name in ("quick", "row-width", "beyond-cache", "bulk-load"):
        request = request_for(load_scenario(name), rows=5, columns=("binary16-mssql",))
        assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_every_block_holds_every_trial_once_in_its_own_order() -> None:
    trials = plan(request_for(load_scenario("row-width")))
    blocks = [list(block) for _, block in groupby(trials, key=lambda trial: trial.block)]
    cells = [[(t.database, t.layout, t.column, t.payload) for t in block] for block in blocks]
    assert len(blocks) == 3
    assert len(cells[0]) == len(set(cells[0])) == 2 * 3 * 3
    assert sorted(cells[0]) == sorted(cells[1]) == sorted(cells[2])
    assert not cells[0] == cells[1] == cells[2]
    assert [t.position for t in blocks[1]] == list(range(18))
    assert trials == plan(request_for(load_scenario("row-width")))
    assert trials != plan(request_for(load_scenario("row-width"), seed=8))


def test_the_control_is_always_measured_first_and_aliases_are_resolved() -> None:
    assert resolve_layouts(["uuid-v4", CONTROL, "uuid-v4"], QUICK) == (CONTROL, "uuid-v4")
    everything = resolve_layouts(["all"], QUICK)
    assert everything[0] == CONTROL
    assert set(everything) == {known.name for known in layouts().values()}
    assert resolve_layouts([], QUICK) == (CONTROL, *QUICK.layouts)
    assert resolve_layouts([], QUICK.model_copy(update={"layouts": ()})) == everything
    (alias,) = layout("jhtodd-end").aliases[:1]
    assert resolve_layouts([alias], QUICK) == (CONTROL, "jhtodd-end")


def test_rows_come_from_the_request_the_scenario_or_the_cache() -> None:
    on = engine("postgresql")
    assert rows_of(request_for(rows=11), on) == 11
    assert rows_of(request_for(), on) == 20_000
    beyond = request_for(load_scenario("beyond-cache"))
    for name in ("postgresql", "sqlite"):
        rows = rows_of(beyond, engine(name))
        index_bytes, _ = engine(name).bytes_per_row(engine(name).default_column("uuid"), 100, "clustered")
        cache = engine(name).settings("durable", "small").cache_bytes
        assert 4 * cache <= rows * index_bytes < 4 * cache + 100_000 * index_bytes


@given(rows=st.integers(8, 3000), count=st.integers(1, 8), seed=st.integers(0, 5))
def test_rows_are_dealt_whole_and_planned_once_each(rows: int, count: int, seed: int) -> None:
    request = request_for(QUICK.with_equal_writers(count), rows=rows, seed=seed)
    sources = key_sources(request, plan(request)[0])
    assert sum(source.writer.rows for source in sources) == rows
    assert max(s.writer.rows for s in sources) - min(s.writer.rows for s in sources) <= 1
    numbers = np.concatenate([source.planned for source in sources])
    assert np.array_equal(np.sort(numbers), np.arange(1, rows + 1))
    for source in sources:
        assert np.all(np.diff(source.planned) > 0)


def test_a_block_has_the_same_keys_on_every_database_and_others_in_the_next() -> None:
    request = request_for(rows=50)
    keys = {
        (t.block, t.database): keys_in_order(key_sources(request, t)).data.tobytes()
        for t in plan(request)
        if t.layout == "uuid-v4"
    }
    assert keys[1, "postgresql"] == keys[1, "sqlite"]
    assert len(set(keys.values())) == 3


def test_the_benchmark_of_2012_has_the_articles_columns_and_its_five_tests() -> None:
    work, every = load_scenario("benchmark-2012"), tuple(engines())
    assert work.rows == 2_000_000
    request = Request(
        every, dict.fromkeys(every, "model"), work, resolve_layouts((), work), (), None, 1, "durable", 1, 1.0
    )
    found: dict[str, dict[str, set[str]]] = {name: {} for name in every}
    for trial in plan(request):
        found[trial.database].setdefault(trial.layout, set()).add(trial.column)
    article = {
        "mssql": {"uniqueidentifier"},
        "mysql": {"char36"},
        "mariadb": {"char36"},
        "oracle": {"raw16-net"},
        "postgresql": {"uuid"},
        "sqlite": {"binary16-net", "char36"},
    }
    for database, columns in article.items():
        tests = found[database]
        assert set(tests) == {CONTROL, "uuid-v4", "jhtodd-string", "jhtodd-binary", "jhtodd-end"}
        assert all(tests[name] == columns for name in tests if name != CONTROL), database
    asked = plan(replace(request, columns=("native",)))
    assert {t.column for t in asked if t.database == "oracle" and t.layout == "uuid-v4"} == {"raw16"}
