"""Updates of any length and readers: rows and order of all leaves are those of the page model."""

from collections.abc import Iterator

import pytest

from keybench.databases.contract_suite.bench import Bench, open_bench
from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.contract_suite.past import both, updated_and_read
from keybench.databases.sqlite.engine import ENGINE
from tests.parameters import first


@pytest.fixture(scope="module")
def server() -> Iterator[Bench]:
    provision = ENGINE.provision("embedded", ENGINE.settings("fast", "default"))
    yield from open_bench(ENGINE, provision.start())
    provision.stop()


@pytest.mark.parametrize("seed", first(8, range(24)))
def test_any_history_with_updates_is_that_of_the_model(server: Bench, seed: int) -> None:
    payload = (0, 20, 100, 300)[seed % 4]
    column, keys = taken_by(
        ENGINE.column(("binary16", "bigint", "integer")[seed % 3]), (random, increasing)[seed // 4 % 2](9000)
    )
    key = "nonclustered" if seed % 5 == 0 else "clustered"
    with both(server, column, keys, payload=payload, key=key, status=seed % 7 < 3, longest=payload * 3 // 2) as it:
        updated_and_read(it, seed)


@pytest.mark.long
def test_a_page_that_becomes_sparse_is_left_alone(server: Bench) -> None:
    with both(server, ENGINE.column("binary16"), random(6000), payload=400, longest=600) as it:
        it.insert(it.arriving[:5000])
        it.write(it.present, 600)
        it.write(it.present, 400)
        it.insert(it.arriving[5000:])
        it.delete(it.present[::3])
