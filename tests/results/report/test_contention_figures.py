"""Figures of many writers: rows a second against their number, and what they wait for."""

from dataclasses import replace

import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.results.analysis.groups import Group, group_trials
from keybench.results.store.records import Trial
from tests.results.conftest import a_run, trials
from tests.results.report.test_figures import drawn, table

WAITS = {"running": 10.0, "client": 40.0, "LWLock:WALWrite": 30.0, "IO:WALSync": 15.0, "Lock:extend": 2.0}
RARE = {"LWLock:WALInsert": 1.0, "LWLock:BufferContent": 1.5, "LWLock:XactSLRU": 0.5}


def with_waits(trial: Trial) -> Trial:
    shares = {**WAITS, **(RARE if trial.block == 1 else {"running": 13.0})}
    waits = [Reading(Metric.WAITING, value, "measured", "", Subject.wait(name)) for name, value in shares.items()]
    return replace(trial, readings=(*trial.readings, *waits))


def saturated(numbers: tuple[int, ...]) -> list[Group]:
    one = trials(("bigint-identity", "uuid-v7"), ("postgresql",), 2, 100_000, (100,), after=False)
    return group_trials(a_run(blocks=2), [replace(with_waits(trial), writers=n) for trial in one for n in numbers], [])


def test_waits_are_stacked_and_those_of_a_block_without_them_count_as_none() -> None:
    figure = drawn(saturated((4,)))["waits"]
    assert figure.header[2:] == tuple(
        f"{name}, % of writers' time"
        for name in ("running", "LWLock:WALWrite", "IO:WALSync", "Lock:extend", "LWLock:BufferContent",
                     "LWLock:WALInsert", "other waits", "client")
    )  # fmt: skip
    for row in table(figure):
        values = [float(value) for name, value in row.items() if name.endswith("time")]
        assert values == [11.5, 30.0, 15.0, 2.0, 0.75, 0.5, 0.25, 40.0]
        assert sum(values) == pytest.approx(100)
    assert "waiting in the server: Lowest: bigint-identity, 48.5." in figure.alt


def test_rows_a_second_against_writers() -> None:
    groups = saturated((1, 8, 64))
    figures = drawn(groups)
    rate = figures["saturation-1-rate"]
    assert [(row["layout"], row["writers"]) for row in table(rate)] == [
        (layout, writers) for layout in ("bigint-identity", "uuid-v7") for writers in ("1", "8", "64")
    ]
    seconds = groups[0].arms[0].values(Metric.INSERT_SECONDS)
    (first, *_) = table(rate)
    assert float(first["rows a second, lowest"]) == pytest.approx(100_000 / max(seconds.values()))
    assert float(first["rows a second, highest"]) == pytest.approx(100_000 / min(seconds.values()))
    assert "saturation-1-aborts" not in figures  # nothing was rolled back


def test_two_numbers_of_writers_are_no_line() -> None:
    assert not [key for key in drawn(saturated((1, 8))) if key.startswith("saturation")]
