import numpy as np
import pytest

from benchmarks.scaling import question
from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.rows import Part, rows_of
from keybench.databases.registry import engine
from keybench.model.keys import Keys


def keys(name: str, growth: Growth, part: Part, db: str = "mssql") -> Keys:
    return rows_of(name, question(engine(db), name, growth).table.column, growth, part, 1).keys


@pytest.mark.parametrize("writers", [1, 3])
@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("name", ["bigint-identity", "bigint-cached", "newid", "uuid-v6"])
def test_a_part_of_a_load_has_the_keys_of_those_rows(name: str, writers: int, step: int) -> None:
    if step > 1 and name == "bigint-cached":
        pytest.skip("a writer's blocks are counted, not left out")
    growth, first, rows = Growth(60_000, 1000, writers, 0.25 * (writers > 1)), 30_000, 3_000
    whole, part = keys(name, growth, Part(0, 60_000)), keys(name, growth, Part(first, rows, step))
    place = np.arange(rows)
    chosen = first + (place // writers * step) * writers + place % writers
    time = slice(0, 8) if name == "uuid-v6" else slice(None)  # the rest is random
    if name == "newid":
        time = slice(10, 16)
    expected = whole.data[chosen]
    if part.kind == "uuid":
        assert (part.data[:, time] == expected[:, time]).all()
    else:
        assert (part.data == expected).all()


@pytest.mark.parametrize("restarts", [0.0, 2880.0])
def test_a_counter_that_began_at_a_clock_reading_has_counted_on(restarts: float) -> None:
    growth = Growth(60_000, 1000, 3, 0.25, restarts_per_day=restarts)
    whole = keys("efcore-sequential", growth, Part(0, 60_000))
    part = keys("efcore-sequential", growth, Part(45_000, 6_000))
    counter = [
        (of.data[:, 10:16].astype(object) @ [1 << 8 * i for i in range(5, -1, -1)] * 65536)
        + of.data[:, 8].astype(object) * 256
        + of.data[:, 9]
        for of in (whole, part)
    ]
    apart = np.abs((counter[1] - counter[0][45_000:51_000]).astype(np.int64))
    assert apart.max() <= 1


def test_writers_restart_in_turns() -> None:
    growth = Growth(120_000, 1000, 2, restarts_per_day=1440)  # each once a minute
    counter = keys("efcore-sequential", growth, Part(0, 120_000)).data[:, 10:16].astype(object)
    values = (counter @ [1 << 8 * i for i in range(5, -1, -1)]).astype(np.int64)
    for writer in range(2):
        jumps = np.flatnonzero(np.diff(values[writer::2]) > 1000) + 1
        # after a half and one and a half minutes, and after one
        assert jumps.tolist() == ([15_000, 45_000] if writer == 0 else [30_000])
