"""Writers in scenario files: who is busy when, and when a load ends."""

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.scenarios.files import parse_scenario
from keybench.scenarios.writers import ClockPart, DealPart, Phase, WriterPart, load_phases, rows_sent, timeline_problem
from tests.scenarios.test_schema import MINIMAL, problem


def one(fields: str) -> str:
    return MINIMAL + "[[writer]]\nid = 'a'\n" + fields


def test_a_writer_of_every_field() -> None:
    text = one(
        "rate = 2\nstart = 1\nstop = 90.5\nbusy = [[1, 4], [5, 90]]\nrestarts = [3, 60]\n"
        "clock = { offset = -3, drift = 40, tick = 0.001, step = [[10, -2], [20, 2.5]] }\n"
        "[deal]\nmode = 'sticky'\nsession_rows = 7\n"
    )
    scenario = parse_scenario("mine", text.replace("rows = 10", "rows = 176"), where="mine.toml")
    (writer,) = scenario.writer
    assert (writer.start, writer.stop, writer.restarts) == (1.0, 90.5, (3.0, 60.0))
    assert writer.spells == ((1.0, 4.0), (5.0, 90.0))
    assert writer.clock == ClockPart(offset=-3, drift=40, tick=0.001, step=((10, -2), (20, 2.5)))
    assert scenario.deal == DealPart(mode="sticky", session_rows=7)
    assert scenario.timed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (one("start = 5\nstop = 5\n"), "writer.0: writer a stops at 5 s and starts at 5 s: stop it later"),
        (one("start = 5\nstop = 3\n"), "writer.0: writer a stops at 3 s and starts at 5 s: stop it later"),
        (one("rate = 0\n"), "writer.0.rate: Input should be greater than 0 (it says 0)"),
        (one("busy = []\n"), "writer.0: writer a is never busy: give it a spell, or leave it out"),
        (one("busy = [[3, 3]]\n"), "writer.0: writer a is busy from 3 s to 3 s: put the earlier first"),
        (one("busy = [[0, 3], [2, 9]]\n"),
         "writer.0: writer a has a busy spell from 2 s, and the one ahead of it ends at 3 s: join or sort them"),
        (one("start = 2\nstop = 8\nbusy = [[2, 9]]\n"),
         "writer.0: writer a is there from 2 s to 8 s, and busy from 2 s to 9 s: keep its spells within that"),
        (one("start = 2\nrestarts = [2]\n"),
         "writer.0: writer a is there from 2 s on, and restarts at 2 s: restart it within that"),
        (one("restarts = [0.002, 0.001]\n"), "writer.0: the restarts of writer a are not in order of time: sort them"),
        (one("clock = { tick = 0 }\n"), "writer.0.clock.tick: Input should be greater than 0 (it says 0)"),
        (one("clock = { tick = 1e-8 }\n"),
         "writer.0.clock: a tick of 1e-08 s is below 100 ns, in which all clocks count: give 1e-7 or more"),
        (one("clock = { step = [[5, 1], [5, 2]] }\n"),
         "writer.0.clock: the steps are not in order of time, or two are at once: sort or add them up"),
        (one("clock = { ofset = 1 }\n"), "writer.0.clock.ofset: no such field, did you mean offset?"),
        (one("") + "[[writer]]\nid = 'a'\n", "two writers have the same id: a, a"),
        (one("stop = 0.001\n"),
         "the writers send 1 rows in their time, not 10: give fewer rows, higher rates or longer spells"),
        (one("") + "[[writer]]\nid = 'b'\nstart = 5\n",
         "writer b is first busy at 5 s, but the last of 10 rows is sent at 0.01 s: give more rows, or let it begin "
         "earlier"),
        (MINIMAL.replace("rows = 10", "writer = []\nrows = 10"),
         "the list of writers is empty: name one, or leave it out for one of 1,000 rows a second"),
        (MINIMAL.replace("rows = 10", "index_over_cache = 4") + "[[writer]]\nid = 'a'\nstop = 5\n",
         "a scenario with index_over_cache needs a writer that never stops: leave out its stop"),
        (MINIMAL + "[generation]\n[[writer]]\nid = 'a'\nbusy = [[0, 1]]\n",
         "a scenario with generation has rows, and one writer, whose rate is each thread's"),
        (MINIMAL + "[deal]\nmode = 'fair'\n",
         "deal.mode: Input should be 'own-rates', 'one-busy', 'round-robin', 'random' or 'sticky' (it says 'fair')"),
        (MINIMAL + "[before]\nlayout = 'uuid-v4'\nshare = 1\n",
         "before.share: Input should be less than 1 (it says 1)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    assert f"  {said}" in problem(text).splitlines()


def test_impossible_writers_are_reported_in_one_message() -> None:
    assert problem(one("start = 5\nstop = 3\n[[writer]]\nid = 'b'\nrate = 0\n")) == (
        "scenario mine.toml:\n"
        "  writer.0: writer a stops at 3 s and starts at 5 s: stop it later\n"
        "  writer.1.rate: Input should be greater than 0 (it says 0)\n"
        "Fields: docs/scenarios.md."
    )


def writer(name: str, **fields: object) -> WriterPart:
    return WriterPart.model_validate({"id": name, "rate": 10.0} | fields)


def test_phases_are_cut_where_the_busy_writers_change_and_end_with_the_last_row() -> None:
    both = [writer("a", busy=((0, 10), (20, 40))), writer("b", start=5, rate=30.0)]
    assert load_phases(both, 1000) == (
        Phase(0, 5, (0,), 10.0),
        Phase(5, 10, (0, 1), 40.0),
        Phase(10, 20, (1,), 30.0),
        Phase(20, 31.25, (0, 1), 40.0),
    )


def test_a_time_in_which_nobody_is_busy_is_no_phase_and_spells_that_touch_are_one() -> None:
    assert load_phases([writer("a", busy=((0, 1), (1, 2), (5, 6)))], 30) == (
        Phase(0, 2, (0,), 10.0),
        Phase(5, 6, (0,), 10.0),
    )


def test_what_writers_send_in_all_their_time() -> None:
    assert rows_sent([writer("a", stop=3), writer("b", busy=((1, 2), (3, 4)))]) == 50
    assert rows_sent([writer("a", stop=3), writer("b")]) == inf


@pytest.mark.parametrize(
    ("writers", "said"),
    [
        ([writer("a")], ""),
        ([writer("a", stop=100)], ""),
        ([writer("a", stop=99)],
         "the writers send 990 rows in their time, not 1,000: give fewer rows, higher rates or longer spells"),
        ([writer("a"), writer("b", start=200)],
         "writer b is first busy at 200 s, but the last of 1,000 rows is sent at 100 s: give more rows, or let it "
         "begin earlier"),
        ([writer("a", restarts=(50, 100))],
         "writer a restarts at 100 s, but the last of 1,000 rows is sent at 100 s: give more rows, or leave the "
         "restart out"),
    ],
)  # fmt: skip
def test_loads_that_cannot_be(writers: list[WriterPart], said: str) -> None:
    assert timeline_problem(writers, 1000) == said


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
    rows = rows_sent(writers) * share
    found = load_phases(writers, rows)
    assert sum(phase.rows for phase in found) == pytest.approx(rows)
    for phase in found:
        middle = (phase.begin + phase.end) / 2
        assert phase.busy == tuple(i for i, part in enumerate(writers) if any(a < middle < b for a, b in part.spells))
    for one, two in pairwise(found):
        assert one.end <= two.begin
        assert one.busy != two.busy or one.end < two.begin
