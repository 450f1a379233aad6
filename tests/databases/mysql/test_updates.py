"""Updates of the same length and readers: rows and order of all leaves are those of the page model."""

import numpy as np
import pytest

from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.contract_suite.past import both, updated_and_read
from keybench.errors import UsageError


@pytest.mark.parametrize("seed", range(6))
def test_any_history_with_updates_is_that_of_the_model(engine, admin, address, seed: int) -> None:
    payload = (0, 20, 100, 300)[seed % 4]
    name, stream = ("binary16", "bigint", "char36")[seed % 3], (random, increasing)[seed % 2]
    column, keys = taken_by(engine.column(name), stream(9000))
    bench = Bench(engine, address, admin)
    with both(bench, column, keys, payload=payload, status=seed % 2 == 0, longest=payload) as it:
        updated_and_read(it, seed)


def test_what_is_not_known_is_refused(engine, admin, address) -> None:
    with both(Bench(engine, address, admin), *taken_by(engine.column("binary16"), random(10)), payload=9) as it:
        it.insert(it.arriving)
        it.delete(it.arriving[:1])
        for ranks, characters, message in (
            (it.present, np.full(9, 10), r"^rows get payloads of another length: InnoDB then moves them within their "),
            (it.arriving, None, r"^10 keys cannot be updated: not all of them are there\.$"),
        ):
            with pytest.raises(UsageError, match=message):
                it.state.update(ranks, 1, characters)
