"""The tables of a trial and their writers, and when each writer's rows arrive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.registry import engine
from keybench.generators.core.clock import TICKS_PER_SECOND as SECOND
from keybench.generators.core.layout import layout
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.row_arrivals import Share, shares
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import keys_in_order, writers_in_order
from keybench.scenarios.files import load_scenario, parse_scenario
from keybench.scenarios.schema import Scenario

TABLE = Table("rows", engine("sqlite").column("binary16"), 100)


def sources(work: Scenario, name: str, rows: int = 400) -> tuple[KeySource, ...]:
    request = Request(("sqlite",), {"sqlite": "embedded"}, work, (name,), (), rows, 1, "fast", 3, 60.0)
    return key_sources(request, TrialPlan(1, 0, "sqlite", name, "binary16", 100, rows))


@pytest.mark.parametrize("name", ["hotguid", "hotguid-sql"])
def test_hotguid_carries_the_shard_of_its_writer(name: str) -> None:
    two = "[[writer]]\nid = 'a'\nrate = 100\nrestarts = [1]\nshard = 70000\n[[writer]]\nid = 'b'\nrate = 100\n"
    for number, source in zip((70000, 0), sources(scenario(two, 400), name), strict=True):
        keys = source.stream().take(source.writer.rows)
        assert set(np.asarray(layout(name).decode(keys).fields["shard"]).tolist()) == {number}


def test_each_row_has_the_writer_that_makes_its_key() -> None:
    own = sources(load_scenario("azure-lag"), "uuid-v7")
    keys, writers = keys_in_order(own), writers_in_order(own)
    assert len(writers) == len(keys) == 400
    for number, source in enumerate(own):
        assert np.array_equal(keys.data[writers == number], source.stream().take(source.writer.rows).data)


HEAD = 'title = "t"\nrows = {rows}\nstart = 2026-01-01T00:00:00Z\n'
MODES = ("own-rates", "one-busy", "round-robin", "random", "sticky")


def scenario(writers: str, rows: int) -> Scenario:
    return parse_scenario("mine", HEAD.format(rows=rows) + writers, where="mine.toml")


def planned(found: tuple[Share, ...], rows: int) -> list[int]:
    """The writer of each row of the load in planned order."""
    owner = np.full(rows, -1)
    for i, share in enumerate(found):
        owner[share.planned - 1] = i
    return owner.tolist()


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[Scenario, int]:
    text = f"[deal]\nmode = '{draw(st.sampled_from(MODES))}'\nsession_rows = 3\n"
    most = 0
    for name in range(draw(st.integers(1, 5))):
        edges = sorted(draw(st.lists(st.integers(0, 40), min_size=2, max_size=6, unique=True)))
        spells = [list(pair) for pair in zip(edges[::2], edges[1::2], strict=False)]
        rate = draw(st.integers(1, 50))
        most += rate * sum(b - a for a, b in spells)
        text += f"[[writer]]\nid = '{name}'\nrate = {rate}\nbusy = {spells}\n"
    return scenario(text, most), most


@given(work=scenarios(), scaled=st.integers(50, 2000))
def test_rows_are_planned_once_in_order_of_arrival_while_their_writer_is_busy(
    work: tuple[Scenario, int], scaled: int
) -> None:
    plan, _ = work
    found = shares(plan, scaled, (1, 1))
    numbers = np.concatenate([share.planned for share in found])
    assert np.array_equal(np.sort(numbers), np.arange(1, scaled + 1))
    arrivals = np.concatenate([share.arrivals for share in found])
    assert np.all(np.diff(arrivals[np.argsort(numbers)]) >= 0)
    phases = plan.phases(scaled)
    for i, (writer, share) in enumerate(zip(plan.writer, found, strict=True)):
        assert np.all(np.diff(share.arrivals) >= 0)
        assert np.all(np.diff(share.planned) > 0)
        assert len(share.phases) == len(phases)
        assert not [n for n, phase in zip(share.phases, phases, strict=True) if n and i not in phase.busy]
        load = share.arrivals
        inside = np.zeros(len(load), np.bool_)
        for begin, end in writer.spells:
            last = phases[-1].end if end >= phases[-1].end else end
            # A share is rounded to whole rows, so the last one may arrive one interval after the load's end.
            interval = SECOND * (plan.rows or scaled) / scaled / writer.rate
            slack = interval if last == phases[-1].end else 0
            inside |= (load >= begin * SECOND) & (load < last * SECOND + slack)
        assert inside.all()


@given(work=scenarios())
def test_the_same_scenario_and_seed_give_the_same_rows(work: tuple[Scenario, int]) -> None:
    plan, rows = work
    for one, two in zip(shares(plan, rows, (1, 2)), shares(plan, rows, (1, 2)), strict=True):
        assert np.array_equal(one.arrivals, two.arrivals)
        assert np.array_equal(one.planned, two.planned)


TWO = (
    "[[writer]]\nid = 'a'\nrate = 30\nbusy = [[0, 10], [20, 30]]\n"
    "[[writer]]\nid = 'b'\nrate = 10\nstart = 5\nstop = 30\n"
)


def test_rows_by_own_rates_come_at_even_intervals_in_each_spell() -> None:
    a, b = shares(scenario(TWO, 850), 850, (1,))
    assert (a.phases, b.phases) == ((150, 150, 0, 300), (0, 50, 100, 100))
    assert set(np.diff(a.arrivals).tolist()) <= {SECOND // 30, SECOND // 30 + 1, *np.diff(a.arrivals)[299:300].tolist()}
    assert a.arrivals[300] == 20 * SECOND
    assert (a.started, b.started) == (0, 5 * SECOND + SECOND // 20)
    assert b.arrivals[0] == b.started, "half a row later, so that writers of one rate take turns"
    assert np.all(np.diff(b.arrivals) == SECOND // 10)


def test_rows_scale_the_rates_and_not_the_hours() -> None:
    plan = scenario(TWO, 850)
    usual, tenfold = shares(plan, 850, (1,)), shares(plan, 8500, (1,))
    for one, ten in zip(usual, tenfold, strict=True):
        assert ten.phases == tuple(10 * rows for rows in one.phases)
        assert ten.arrivals[-1] == pytest.approx(one.arrivals[-1], abs=SECOND / 10)


def test_ways_of_dealing_out() -> None:
    def owners(mode: str) -> list[int]:
        return planned(shares(scenario(TWO + f"[deal]\nmode = '{mode}'\nsession_rows = 40\n", 850), 850, (1,)), 850)

    assert owners("one-busy") == [0] * 350 + [1] * 100 + [0] * 400
    assert owners("round-robin") == [0] * 150 + [0, 1] * 100 + [1] * 100 + [0, 1] * 200
    drawn = np.array(owners("random"))
    assert drawn[:150].sum() == 0
    assert drawn[350:450].all()
    assert drawn[450:].mean() == pytest.approx(0.25, abs=0.06), "by rate: 30 to 10"
    assert np.count_nonzero(np.diff(drawn[450:])) > 100
    sessions = np.array(owners("sticky"))[450:]
    assert (sessions.reshape(10, 40) == sessions[::40, None]).all()
    assert set(sessions.tolist()) == {0, 1}
