"""When which writers are busy, and when a load ends."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.scenarios.timeline import Phase, phases, problem, sent
from keybench.scenarios.writers import WriterPart


def writer(name: str, **fields: object) -> WriterPart:
    return WriterPart.model_validate({"id": name, "rate": 10.0} | fields)


def test_phases_are_cut_where_the_busy_writers_change_and_end_with_the_last_row() -> None:
    both = [writer("a", busy=((0, 10), (20, 40))), writer("b", start=5, rate=30.0)]
    assert phases(both, 1000) == (
        Phase(0, 5, (0,), 10.0),
        Phase(5, 10, (0, 1), 40.0),
        Phase(10, 20, (1,), 30.0),
        Phase(20, 31.25, (0, 1), 40.0),
    )


def test_a_time_in_which_nobody_is_busy_is_no_phase_and_spells_that_touch_are_one() -> None:
    assert phases([writer("a", busy=((0, 1), (1, 2), (5, 6)))], 30) == (
        Phase(0, 2, (0,), 10.0),
        Phase(5, 6, (0,), 10.0),
    )


def test_what_writers_send_in_all_their_time() -> None:
    assert sent([writer("a", stop=3), writer("b", busy=((1, 2), (3, 4)))]) == 50
    assert sent([writer("a", stop=3), writer("b")]) == inf


@pytest.mark.parametrize(
    ("writers", "said"),
    [
        ([writer("a")], ""),
        ([writer("a", stop=100)], ""),
        (
            [writer("a", stop=99)],
            "the writers send 990 rows in their time, not 1,000: give fewer rows, higher rates or longer spells",
        ),
        (
            [writer("a"), writer("b", start=200)],
            "writer b is first busy at 200 s, but the last of 1,000 rows is sent at 100 s: give more rows, or let it "
            "begin earlier",
        ),
        (
            [writer("a", restarts=(50, 100))],
            "writer a restarts at 100 s, but the last of 1,000 rows is sent at 100 s: give more rows, or leave the "
            "restart out",
        ),
    ],
)
def test_loads_that_cannot_be(writers: list[WriterPart], said: str) -> None:
    assert problem(writers, 1000) == said


@st.composite
def some_writers(draw: st.DrawFn) -> list[WriterPart]:
    found = []
    for name in range(draw(st.integers(1, 5))):
        edges = sorted(draw(st.lists(st.integers(0, 50), min_size=2, max_size=6, unique=True)))
        spells = tuple(zip(edges[::2], edges[1::2], strict=False))
        found.append(writer(str(name), busy=spells, rate=draw(st.integers(1, 100))))
    return found


@given(writers=some_writers(), share=st.floats(0.01, 1))
def test_the_phases_hold_the_rows_and_nobody_is_in_one_who_is_not_busy(writers: list[WriterPart], share: float) -> None:
    rows = sent(writers) * share
    found = phases(writers, rows)
    assert sum(phase.rows for phase in found) == pytest.approx(rows)
    for phase in found:
        middle = (phase.begin + phase.end) / 2
        assert phase.busy == tuple(i for i, part in enumerate(writers) if any(a < middle < b for a, b in part.spells))
    for one, two in pairwise(found):
        assert one.end <= two.begin
        assert one.busy != two.busy or one.end < two.begin
