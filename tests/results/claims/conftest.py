"""Results databases with runs whose values a test chooses."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Origin, Reading, Series
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Trial
from tests.results.conftest import START, a_run, a_trial

Values = Mapping[Metric, float]
Arms = Mapping[tuple[str, str], Callable[[int], Values]]
"""What each layout in each column has in a block."""


def trial(block: int, place: int, layout: str, column: str, values: Values, **changed: object) -> Trial:
    """A good trial of `two-million` on embedded PostgreSQL, unless something else is said."""
    origin: Origin = changed.pop("origin", "measured")  # type: ignore[assignment]
    readings = [Reading(metric, value, origin) for metric, value in values.items()]
    return a_trial(
        **({"readings": readings, "block": block, "position": place, "column": column, "layout": layout} | changed)
    )


def growing(rows: int, first: float, last: float) -> Series:
    """Insert time along a trial whose rows take longer and longer, from one pace to another."""
    x = np.linspace(0, rows, 201)[1:].astype(np.int64)
    pace = np.linspace(first, last, 200)
    return Series(Metric.INSERT_SECONDS, x, np.cumsum(pace) / 200)


class Runs:
    """A results database in the making."""

    trial = staticmethod(trial)
    growing = staticmethod(growing)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0

    def add(
        self, *trials: Trial, cache: int = 2**26, blocks: int = 6, profile: str = "durable", path: str = "rows"
    ) -> str:
        """Records a run of these trials and gives its id."""
        self.count += 1
        run_id = f"{self.count:x}" * 10
        with Store.open(str(self.path), write=True) as store:
            run = replace(
                a_run(run_id, blocks), started=START + timedelta(hours=self.count), profile=profile, machine={},
                scenario=trials[0].scenario if trials else "quick", definition={"scenario": {"load": {"path": path}}},
            )  # fmt: skip
            store.add_run(run)
            for database, server in sorted({(one.database, one.server) for one in trials}):
                store.add_environment(run_id, Environment(database, server, {}, {}, cache))
            for one in trials:
                store.record(run_id, one)
        return run_id

    def keys(self, ways: Arms, blocks: int = 6) -> str:
        """Records a run of keys alone, of a layout and a way of making it each."""
        return self.add(
            *(
                trial(
                    block, place, layout, "", values(block), database="none", server=way, scenario="generation",
                    rows=1_000_000,
                )
                for block in range(1, blocks + 1)
                for place, ((layout, way), values) in enumerate(ways.items())
            )
        )  # fmt: skip

    def arms(self, arms: Arms, *, blocks: int = 6, cache: int = 2**26, **changed: object) -> str:
        """Records a run of complete blocks."""
        found = [
            trial(block, place, layout, column, values(block), **changed)
            for block in range(1, blocks + 1)
            for place, ((layout, column), values) in enumerate(arms.items())
        ]
        return self.add(*found, cache=cache, blocks=blocks)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """An empty results database to add runs to."""
    return Runs(tmp_path / "results.sqlite")
