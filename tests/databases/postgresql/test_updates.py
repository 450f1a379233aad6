"""Updates of an indexed column, in one transaction each: every leaf is that of the page model."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.contract_suite.past import both
from keybench.databases.postgresql.engine import ENGINE
from tests.parameters import first

ROWS = 9000


@pytest.fixture
def bench(address: Address) -> Iterator[Bench]:
    with closing(ENGINE.admin(address)) as admin:
        yield Bench(ENGINE, address, admin)


@pytest.mark.parametrize(
    ("column", "stream", "seed"),
    first(
        3,
        [
            ("uuid", random, 1),
            ("uuid", increasing, 2),
            ("text", increasing, 6),
            ("bigint", random, 3),
            ("char36", random, 4),
            ("bytea", random, 5),
        ],
    ),
)
def test_any_history_with_updates_is_that_of_the_model(bench: Bench, column: str, stream, seed: int) -> None:
    draw = np.random.default_rng(seed)
    sized, keys = taken_by(ENGINE.column(column), stream(ROWS))
    with both(bench, sized, keys, status=True) as it:
        for part in np.split(it.arriving, 3):
            first, second, third = np.split(part, np.sort(draw.integers(0, len(part), 2)))
            it.insert(first)
            it.update(draw.permutation(it.present)[: int(draw.integers(1, len(it.present)))])
            it.insert(second)
            it.rebuild(int(draw.choice([100, 90, 70]))) if draw.integers(2) else it.clean()
            it.delete(draw.permutation(it.present)[: len(it.present) // 4])
            it.insert(third)
            it.clean()


@pytest.mark.parametrize(("stream", "payload", "seed"), [(random, 0, 1), (increasing, 100, 2), (random, 100, 3)])
def test_readers_mark_entries_that_full_pages_drop(bench: Bench, stream, payload: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    with both(bench, ENGINE.column("uuid"), stream(ROWS), payload=payload) as it:
        first, second, third = np.split(it.arriving, [ROWS // 2, ROWS * 3 // 4])
        inside = slice(None, -200)  # the rows of the table's last page stay
        it.insert(first)
        gone = draw.permutation(first[inside])[: ROWS // 5]
        it.delete(gone)
        it.find(gone[: int(draw.integers(1, len(gone)))])
        it.insert(second)
        it.delete(draw.permutation(np.setdiff1d(np.append(first, second)[inside], gone))[: ROWS // 5])
        it.scan(int(draw.integers(1, len(it.present))))
        it.insert(third[: len(third) // 2])
        it.clean()
        it.insert(third[len(third) // 2 :])


def test_a_full_page_also_drops_entries_of_dead_rows_beside_the_new_row(bench: Bench) -> None:
    with both(bench, ENGINE.column("uuid"), increasing(5000)) as it:
        it.insert(it.arriving[:4975])  # 165 of the rows lie on the table's last page, which has room for 20 more
        it.delete(it.arriving[[4700, 4900]])
        it.find(it.arriving[4700:4701])
        it.insert(it.arriving[4975:4990])
        assert it.state.stats().page_rows[-1] == 290


@pytest.mark.parametrize("share", [0.03, 0.5])
def test_a_vacuum_that_shortens_the_table_lets_the_next_one_free_pages(bench: Bench, share: float) -> None:
    with both(bench, ENGINE.column("uuid"), increasing(ROWS * 2)) as it:
        it.insert(it.arriving[:ROWS])
        it.delete(it.arriving[ROWS - int(ROWS * share) : ROWS])
        it.delete(it.arriving[1000:3000])
        it.clean()
        it.clean()
        it.insert(it.arriving[ROWS:])


@pytest.mark.parametrize("stream", [random, increasing])
def test_vacuum_behind_an_old_snapshot_cleans_nothing(bench: Bench, address: Address, stream) -> None:
    with both(bench, ENGINE.column("uuid"), stream(ROWS)) as it, closing(ENGINE.admin(address)) as reader:
        it.insert(it.arriving[: ROWS // 2])
        reader.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.rows("SELECT 1")  # takes the snapshot
        it.delete(it.present[: ROWS // 5])
        bench.admin.settle(it.table)
        it.compare()  # the model has not cleaned
        it.insert(it.arriving[ROWS // 2 : ROWS * 3 // 4])
        reader.rows("COMMIT")
        it.clean()
        it.insert(it.arriving[ROWS * 3 // 4 :])
