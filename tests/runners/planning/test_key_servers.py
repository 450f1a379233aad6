"""Keys that database servers make from a counter of their own, over restarts and on several servers."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from keybench.databases.registry import engine
from keybench.generators.core.clock import ticks_of
from keybench.generators.core.layout import layout
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import keys_in_order, trial_table
from keybench.runners.trials.prediction import predicted_alone
from keybench.scenarios.files import load_scenario, parse_scenario
from keybench.scenarios.schema import Scenario

NAME = "newsequentialid"
WORK = 'title = "t"\nrows = 1000\nstart = 2026-01-01T00:00:00Z\n'
ONE = "[[writer]]\nid = 'a'\nrate = 10\n"
TWO = ONE + "server = 7\n[[writer]]\nid = 'b'\nrate = 10\nserver = 3\n[[writer]]\nid = 'c'\nrate = 10\nserver = 3\n"


def scenario(text: str) -> Scenario:
    return parse_scenario("mine", WORK + text, where="mine.toml")


def trial(work: Scenario, block: int = 1) -> tuple[Request, TrialPlan]:
    rows = work.rows or 0
    request = Request(("mssql",), {"mssql": "model"}, work, (NAME,), (), rows, 1, "durable", 3, 60.0)
    return request, TrialPlan(block, 0, "mssql", NAME, "uniqueidentifier", 100, rows)


def sources(work: Scenario, block: int = 1) -> tuple[KeySource, ...]:
    return key_sources(*trial(work, block))


def machines(keys: Keys) -> list[tuple[int, int, int]]:
    """(rows, node, clock sequence) of each run of rows with the same node and clock sequence."""
    fields = layout(NAME).decode(keys).fields
    both = np.stack([fields["node"], fields["clock_sequence"]], axis=1).astype(np.int64)
    edges = [0, *(np.flatnonzero((np.diff(both, axis=0) != 0).any(axis=1)) + 1).tolist(), len(keys)]
    return [(b - a, int(both[a, 0]), int(both[a, 1])) for a, b in pairwise(edges)]


def test_a_restart_on_the_same_machine_counts_on_and_keeps_the_order() -> None:
    keys = keys_in_order(sources(scenario("[server]\nrestarts = [20, 70]\n" + ONE)))
    (first, node, sequence), *others = machines(keys)
    assert (first, others) == (200, [(500, node, sequence + 1), (300, node, sequence + 2)])
    assert (np.diff(rank(keys, "mssql")) > 0).all()
    assert layout(NAME).decode(keys).ticks[200] == ticks_of(scenario(ONE).start) + 20 * 10**7


def test_a_restart_on_another_machine_goes_to_another_place_and_back() -> None:
    work = scenario("[server]\nrestarts = [20, 70, 90]\nhosts = 2\n" + ONE)
    (_, a, one), (_, b, two), *later = machines(keys_in_order(sources(work)))
    assert a != b
    assert later == [(200, a, one + 1), (100, b, two + 1)]
    lower = np.diff(rank(keys_in_order(sources(work)), "mssql")) < 0
    assert lower.sum() in (1, 2), "the two machines' places are not in the order of the restarts"


def test_each_server_has_a_counter_of_its_own() -> None:
    a, b, c = sources(scenario(TWO))
    nodes = [{node for _, node, _ in machines(source.stream().take(source.writer.rows))} for source in (a, b, c)]
    assert [len(own) for own in nodes] == [1, 1, 1]
    assert nodes[1] == nodes[2] != nodes[0]
    shared = np.concatenate([source.stream().take(source.writer.rows).data for source in (b, c)])
    assert len(np.unique(shared, axis=0)) == b.writer.rows + c.writer.rows
    together = keys_in_order((b, c))
    assert (np.diff(rank(together, "mssql")) > 0).all(), "two writers of one server: its order of arrival"


@pytest.mark.parametrize("text", [ONE, TWO])
def test_streams_repeat_can_be_pickled_and_taken_in_parts(text: str) -> None:
    for source in sources(scenario("[server]\nrestarts = [2, 5]\nhosts = 2\n" + text)):
        whole = source.stream().take(source.writer.rows).data
        stream = pickle.loads(pickle.dumps(source)).stream()
        parts = []
        for first in range(0, source.writer.rows, 77):
            stream = pickle.loads(pickle.dumps(stream))
            parts.append(stream.take(min(77, source.writer.rows - first)).data)
        assert np.array_equal(np.concatenate(parts), whole)


def test_an_applications_restart_is_none_of_its_servers() -> None:
    restarted = scenario(ONE + "restarts = [20, 70]\n")
    assert len(machines(keys_in_order(sources(restarted)))) == 1


def test_the_layout_that_the_table_holds_before_may_be_one_of_these() -> None:
    work = scenario("[before]\nlayout = 'newsequentialid'\nshare = 0.5\n" + TWO)
    request, plan = trial(work)
    changed = TrialPlan(1, 0, "mssql", "uuid-v7", "uniqueidentifier", 100, plan.rows)
    keys = keys_in_order(key_sources(request, changed))
    assert len({node for _, node, _ in machines(keys[:500])}) == 2


@pytest.mark.parametrize(
    ("name", "deep"), [("server-restarts", (0, 0)), ("server-failover", (24, 51)), ("several-servers", (70, 76))]
)
def test_what_servers_cost_the_index(name: str, deep: tuple[int, int]) -> None:
    """The share of inserts behind the end, in %: none after restarts on one machine, a quarter or a half after
    failovers, three of four with four servers."""
    work = load_scenario(name)
    for block in (1, 2, 3):
        keys = keys_in_order(sources(work, block))
        order = rank(keys, "mssql")
        behind = order < np.maximum.accumulate(order)
        assert deep[0] <= 100 * behind.mean() <= deep[1], block


def test_the_page_model_sees_it() -> None:
    pages = {}
    for name in ("server-restarts", "server-failover", "several-servers"):
        table = trial_table(*trial(load_scenario(name)))
        readings = predicted_alone(engine("mssql"), Arrived.as_planned(table)).readings
        pages[name] = next(r.value for r in readings if r.metric == Metric.LEAF_PAGES)
    assert pages["server-restarts"] == 2813, "64 rows a page: as if it had never restarted"
    # Keys that go inside the index follow one another, so that their pages fill; a few splits are left.
    assert pages["server-failover"] == 2815
    assert pages["several-servers"] == 2816
