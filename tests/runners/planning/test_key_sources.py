"""Keys of writers that come, go and are restarted, on clocks of their own."""

import pickle

import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_SECOND as SECOND
from keybench.generators.core.clock import ticks_of
from keybench.generators.core.layout import layout
from keybench.model.byteorder import rank
from keybench.runners.planning.key_sources import KeySource, clock_readings, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan, plan
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.scenarios.files import parse_scenario
from keybench.scenarios.schema import Scenario
from keybench.scenarios.writers import ClockPart

HEAD = 'title = "t"\nrows = 1000\nstart = 2026-01-01T00:00:00Z\n'
LATE = "[[writer]]\nid = 'a'\nrate = 10\nbusy = [[40, 90]]\nrestarts = [70]\nclock = { offset = 5 }\n"
LATE += "[[writer]]\nid = 'b'\nrate = 5\n"


def scenario(text: str) -> Scenario:
    return parse_scenario("mine", HEAD + text, where="mine.toml")


def sources(work: Scenario, name: str, rows: int = 1000, block: int = 1) -> tuple[KeySource, ...]:
    request = Request(("sqlite",), {"sqlite": "model"}, work, (name,), (), rows, 1, "durable", 3, 60.0)
    return key_sources(request, TrialPlan(block, 0, "sqlite", name, "binary16", 0, rows))


def counters(source: KeySource, start: int) -> np.ndarray:
    """EF Core's counters of a writer, in seconds of the scenario."""
    keys = source.stream().take(source.writer.rows)
    return (layout("efcore-sequential").decode(keys).fields["counter"] - start) / SECOND


def test_a_generator_that_reads_the_clock_once_does_so_when_its_process_starts() -> None:
    work = scenario(LATE)
    a, b = sources(work, "efcore-sequential")
    seen = counters(a, ticks_of(work.start))
    assert [process.rows for process in a.writer.processes] == [300, 200]
    assert seen[:300] == pytest.approx(5, abs=0.01), (
        "the start, by a clock five seconds ahead; its first row is at 40 s"
    )
    assert seen[300:] == pytest.approx(75, abs=0.01), "the restart, by the same clock"
    assert counters(b, ticks_of(work.start)) == pytest.approx(0, abs=0.11)


def test_a_new_process_has_another_pid_and_other_random_bytes() -> None:
    (a, _) = sources(scenario(LATE), "morris")
    own = layout("morris").decode(a.stream().take(500)).fields["process"]
    assert len(set(own[:300].tolist())) == len(set(own[300:].tolist())) == 1
    assert own[0] != own[-1]
    (a, _) = sources(scenario(LATE), "hotguid")
    pids = layout("hotguid").decode(a.stream().take(500)).fields["pid"]
    assert [pids[0], pids[-1]] == [4242, 4244]


def test_a_restart_means_nothing_to_what_never_reads_the_clock() -> None:
    for name in ("uuid-v4", "bigint-identity", "bigint-hilo"):
        (a, _) = sources(scenario(LATE), name)
        assert len(a.writer.processes) == 1
    keys = keys_in_order(sources(scenario(LATE), "bigint-identity"))
    assert keys.data.tolist() == list(range(1, 1001))


@pytest.mark.parametrize("name", ["efcore-sequential", "morris", "uuid-v7", "hotguid", "newsequentialid", "uuid-v4"])
@pytest.mark.parametrize("before", ["", "[before]\nlayout = 'uuid-v4'\nshare = 0.4\n"])
def test_a_stream_repeats_can_be_pickled_and_taken_in_parts(name: str, before: str) -> None:
    for source in sources(scenario(LATE + before), name):
        rows = source.writer.rows
        whole = source.stream().take(rows).data
        assert np.array_equal(pickle.loads(pickle.dumps(source)).stream().take(rows).data, whole)
        stream = source.stream()
        parts = [stream.take(0).data]
        for first in range(0, rows, 77):
            stream = pickle.loads(pickle.dumps(stream))
            parts.append(stream.take(min(77, rows - first)).data)
        assert np.array_equal(np.concatenate(parts), whole)
        with pytest.raises(LookupError):
            sources(scenario(LATE), "uuid-v7")[0].stream().take(501)


def test_one_server_makes_newsequentialids_of_all_writers_by_its_own_clock() -> None:
    work = scenario(LATE + "[deal]\nmode = 'random'\n")
    many = sources(work, "newsequentialid")
    keys = keys_in_order(many)
    assert (np.diff(rank(keys, "mssql")) > 0).all()
    decoded = layout("newsequentialid").decode(keys)
    assert len(set(decoded.fields["node"].tolist())) == 1
    arrivals = np.sort(np.concatenate([s.writer.start + s.writer.arrivals for s in many]))
    assert np.abs(decoded.ticks - arrivals).max() <= 2, "true time, though one writer's clock is five seconds ahead"
    with pytest.raises(LookupError, match=r"^the plan gives this writer 1 rows fewer than were asked for$"):
        many[0].stream().take(many[0].writer.rows + 1)


def test_blocks_differ_and_keys_are_distinct() -> None:
    for name in ("efcore-sequential", "uuid-v4", "hotguid"):
        one, two = (keys_in_order(sources(scenario(LATE), name, block=block)) for block in (1, 2))
        assert one.data.tobytes() != two.data.tobytes() or name == "hotguid"
        assert len(np.unique(one.data, axis=0)) == 1000


SWITCH = (
    "[[writer]]\nid = 'a'\nrate = 10\n[[writer]]\nid = 'b'\nrate = 10\n[before]\nlayout = 'uuid-v4'\nshare = 0.75\n"
)


def test_an_application_that_changes_its_layout() -> None:
    work = scenario(SWITCH)
    keys = keys_in_order(sources(work, "efcore-sequential"))
    other = keys_in_order(sources(work, "uuid-v7"))
    assert np.array_equal(keys.data[:750], other.data[:750]), "the rows before the change are the same for all layouts"
    assert set((other.data[:, 6] >> 4)[:750].tolist()) == {4}
    assert set((other.data[:, 6] >> 4)[750:].tolist()) == {7}
    late = layout("efcore-sequential").decode(keys[750:]).fields["counter"]
    assert (late - ticks_of(work.start)) / SECOND == pytest.approx(37.5, abs=0.2), "started anew at the change"
    assert (np.diff(rank(other[750:], "rfc")) > 0).all()
    assert keys_in_order(sources(work, "bigint-identity")).data.tolist() == list(range(1, 1001))


PHASES = """
[[phase]]
insert = 0.4
layout = "uuid-v4"
[[phase]]
insert = 0.1
[[phase]]
insert = 0.1
days_ahead = 3652.5
[[phase]]
insert = 0.4
"""


def test_phases_with_keys_of_their_own() -> None:
    work = scenario(PHASES)
    keys, random = (keys_in_order(sources(work, name)) for name in ("uuid-v7", "uuid-v4"))
    assert (keys.data[:, 6] >> 4).tolist() == [4] * 400 + [7] * 600
    assert len(np.unique(keys.data, axis=0)) == len(np.unique(random.data, axis=0)) == 1000
    own = keys[400:]
    seen = layout("uuid-v7").decode(own).ticks
    days = (seen - ticks_of(work.start)) / (86_400 * SECOND)
    assert np.array_equal(np.round(days, 1), [0.0] * 100 + [3652.5] * 100 + [0.0] * 400)
    assert (np.diff(rank(own, "rfc")[[*range(100), *range(200, 600)]]) > 0).all()
    assert keys_in_order(sources(work, "bigint-identity")).data.tolist() == list(range(1, 1001))
    assert np.array_equal(random.data[:400], keys.data[:400])


def test_a_layout_that_cannot_follow_in_the_same_column_is_refused() -> None:
    layouts = ("bigint-identity", "ksuid-text")
    request = Request(("sqlite",), {"sqlite": "model"}, scenario(SWITCH), layouts, (), 100, 1, "durable", 3, 6.0)
    said = r"^ksuid-text keys cannot share a column with uuid-v4 keys, as scenario mine wants: leave the layout out\.$"
    with pytest.raises(UsageError, match=said):
        plan(request)


T = np.arange(0, 100 * SECOND, SECOND // 2)


@pytest.mark.parametrize(
    ("clock", "shown"),
    [
        (ClockPart(), T),
        (ClockPart(offset=-2.5), T - 25_000_000),
        (ClockPart(drift=100), T + T // 10_000),
        (ClockPart(tick=1.0), T // SECOND * SECOND),
        (ClockPart(step=((10, -1), (50, 3))), T - SECOND * (T >= 10 * SECOND) + 3 * SECOND * (T >= 50 * SECOND)),
        (ClockPart(offset=0.3, tick=1.0), (T + 3_000_000) // SECOND * SECOND),
    ],
)
def test_what_a_clock_shows(clock: ClockPart, shown: np.ndarray) -> None:
    assert np.array_equal(clock_readings(clock, T, 0), shown)
    late = 1000 * SECOND
    assert np.array_equal(clock_readings(clock, T, late), shown + late), "steps and drift count from the start"
