"""Compares the kernel with a simple simulator of the same rules, page for page."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import streams
from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.pagemodels.half_split import levels
from keybench.pagemodels.half_split.kernel import ALONE, AT_MOST_HALF, HALF_OF_PRESENT, LESS_THAN_HALF, Rule
from keybench.pagemodels.half_split.model import SizedSplitModel
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import ranked
from tests.errors import raised
from tests.pagemodels.half_split.plain import Plain, split_model


def grown(plain: Plain, keys: Sequence[int]) -> list[list[int]]:
    """The counts of splits before the first row, and after each."""
    history = [[0, 0, 0]]
    for key in keys:
        plain.insert(key)
        history.append(list(plain.splits))
    return history


def assert_as_plain(stats: PageStats, plain: Plain, history: list[list[int]]) -> None:
    leaves, *above = plain.levels
    assert stats.page_rows.tolist() == [len(page.items) for page in leaves]
    assert stats.page_numbers.tolist() == [page.number for page in leaves]
    assert stats.leaf_pages == len(leaves)
    assert stats.branch_pages == sum(map(len, above))
    assert [stats.appends, stats.edge_splits, stats.interior_splits] == plain.splits
    for checkpoint in stats.checkpoints:
        until = history[checkpoint.rows]
        assert [checkpoint.appends, checkpoint.edge_splits, checkpoint.interior_splits] == until
        assert checkpoint.leaf_pages == 1 + sum(until)


@st.composite
def arrivals(draw: st.DrawFn) -> list[int]:
    """Permutations: random, or some interleaved ascending or descending runs, some of them late."""
    n = draw(st.integers(1, 400))
    if draw(st.booleans()):
        return np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32)))).permutation(n).tolist()
    runs = draw(st.integers(1, 4))
    who = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32)))).integers(0, runs, n)
    lag, apart = draw(st.integers(0, 200)), draw(st.sampled_from([0, 1000]))
    direction = draw(st.sampled_from([1, 1, 1, -1]))
    keys = (np.arange(n) * direction - who * lag + who * apart) * 8 + who
    return np.argsort(np.argsort(keys, kind="stable"), kind="stable").tolist()


@st.composite
def rules_between_keys(draw: st.DrawFn) -> Rule:
    """Rules like those of PostgreSQL: splits around a best one, more of them than a key has entries."""
    together = draw(st.integers(2, 5))
    room = draw(st.integers(20, 60))
    choices = []
    for _ in range(3):
        best = draw(st.integers(together, room - together))
        near = range(best - together // 2 - 1, best + together // 2 + 2)
        choices.append(tuple(draw(st.permutations([left for left in near if 0 < left <= room]))))
    return Rule(room, room, 1, 1, 1, together=together, choices=tuple(choices))


@settings(max_examples=60, deadline=None)
@given(arrivals(), rules_between_keys())
def test_splits_between_keys_are_those_of_the_plain_simulator(stream: list[int], rule: Rule) -> None:
    branch, each = Rule(10, 10, 5, 5, 5), range(rule.together)
    entries = [key * rule.together + number for key in stream for number in each]
    model = split_model(rule, branch, density)
    plain = Plain(model)
    history = grown(plain, entries)
    assert_as_plain(model.insert(np.array(entries, np.int64)), plain, history)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    room = draw(st.integers(2, 60))
    last = room + draw(st.integers(0, 1))
    keep = st.integers(1, room)
    append = draw(st.one_of(st.just(ALONE), keep))
    after = draw(st.booleans())
    return Rule(
        room, last, append, draw(keep), draw(keep), half=draw(st.sampled_from([AT_MOST_HALF, HALF_OF_PRESENT])),
        after_latest=after, before_latest=after and draw(st.booleans()),
    )  # fmt: skip


def density(rows: int, used: int, pages: int) -> float:
    return 100 * used / pages


@settings(max_examples=150, deadline=None)
@given(arrivals(), rules(), st.integers(2, 20))
def test_pages_are_those_of_the_plain_simulator(stream: list[int], rule: Rule, fanout: int) -> None:
    branch = Rule(fanout, fanout, max(1, fanout // 2), max(1, fanout // 2), max(1, fanout // 2))
    model = split_model(rule, branch, density)
    plain = Plain(model)
    history = grown(plain, stream)
    checkpoints = sorted({1, len(stream) // 3 + 1, len(stream)})
    stats = model.insert(np.array(stream, np.int64), checkpoints)
    assert_as_plain(stats, plain, history)
    assert stats.checkpoints[-1].density == stats.density == density(len(stream), len(stream), len(plain.levels[0]))


@settings(max_examples=100, deadline=None)
@given(
    arrivals(), st.integers(20, 200), st.booleans(), st.sampled_from([AT_MOST_HALF, LESS_THAN_HALF, HALF_OF_PRESENT]),
    st.booleans(), st.integers(0, 2**32),
)  # fmt: skip
def test_entries_of_different_sizes_split_by_bytes(
    stream: list[int], room: int, alone: bool, half_rule: int, near: bool, seed: int
) -> None:
    sizes = np.random.Generator(np.random.PCG64(seed)).integers(3, 11, len(stream)).astype(np.uint16)
    rule = Rule(room, room, ALONE if alone else 0, half=half_rule, after_latest=near, before_latest=near, smallest=3)
    branch = Rule(5, 5, 3, 3, 3)
    fixed = split_model(rule, branch, density)
    plain = Plain(fixed, sizes[np.argsort(stream)].tolist())
    history = grown(plain, stream)
    model = SizedSplitModel(fixed, lambda keys: sizes)
    half = (len(stream) + 1) // 2
    stats = model.insert(np.array(stream, np.int64), [half], sizes=sizes)
    assert_as_plain(stats, plain, history)
    assert stats.density == 100 * int(sizes.sum()) / len(plain.levels[0])
    assert stats.checkpoints[0].density == 100 * int(sizes[:half].sum()) / stats.checkpoints[0].leaf_pages


@pytest.mark.parametrize("stream", streams.STREAMS)
def test_rows_sorted_by_groups_of_leaves_make_the_same_pages(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks, rule = ranked(streams.STREAMS[stream](40_000).astype(np.uint64)[:, None]), Rule(20, 21, 15, 15, 10)
    straight = levels.build_level(ranks, rule)
    monkeypatch.setattr(levels, "_CHUNK", 1000)
    monkeypatch.setattr(levels, "_GROUP_ROWS", 1000)
    calls = []
    regroup = levels.LevelMemory._regrouped
    monkeypatch.setattr(levels.LevelMemory, "_regrouped", lambda *given: calls.append(1) or regroup(*given))
    first_row_and_columns = levels.build_level(ranks, rule)
    if stream in {"random", "wrapping"}:
        assert len(calls) > 3
    if stream in {"increasing", "descending"}:
        assert not calls
    for name in ("births", "kinds", "rows"):
        assert np.array_equal(getattr(straight, name), getattr(first_row_and_columns, name)), name


def test_random_keys_fill_ln_2_over_an_octave() -> None:
    """Yao 1978: with midpoint splits of random keys, the mean fill over a doubling of the rows is ln 2."""
    n, room = 1 << 20, 323
    rule = Rule(room, room, ALONE, (room + 1) // 2, (room + 1) // 2)
    model = split_model(rule, rule, lambda rows, used, pages: used / (room * pages))
    rows = np.unique(np.geomspace(n / 2, n, 65).astype(int)).tolist()
    stats = model.insert(np.random.Generator(np.random.PCG64(1)).permutation(n), rows)
    fills = [checkpoint.density for checkpoint in stats.checkpoints]
    assert np.mean(fills) == pytest.approx(np.log(2), abs=0.005)
    assert max(fills) - min(fills) > 0.03


def test_no_rows_are_one_empty_page() -> None:
    stats = split_model(Rule(4, 4, 2, 2, 2), Rule(4, 4, 2, 2, 2), density).insert(np.empty(0, np.int64))
    assert (stats.rows, stats.leaf_pages, stats.branch_pages, stats.nonadjacent) == (0, 1, 0, 0)


@pytest.mark.parametrize("ranks", [[0, 2], [0, 0], [-1, 0], [1]])
def test_ranks_that_are_no_permutation_are_refused_of_rows_of_different_sizes_too(ranks: list[int]) -> None:
    model = split_model(Rule(4, 4, 2, 2, 2), Rule(4, 4, 2, 2, 2), density)
    sized = SizedSplitModel(model, lambda keys: np.ones(len(keys), np.uint16))
    with pytest.raises(UsageError, match=r"^ranks of "):
        sized.insert(np.array(ranks, np.int64), sizes=np.ones(len(ranks), np.uint16))


@pytest.mark.parametrize("checkpoints", [[0], [4], [2, 1], [1, 1]])
def test_checkpoints_that_do_not_ascend_are_refused(checkpoints: list[int]) -> None:
    model = split_model(Rule(4, 4, 2, 2, 2), Rule(4, 4, 2, 2, 2), density)
    said = raised(UsageError, model.insert, np.arange(3), checkpoints)
    assert said == "checkpoints must ascend from 1 to 3, the number of rows: leave out the others."


def test_sizes_that_do_not_fit_the_rows_are_refused() -> None:
    rule = Rule(40, 40, smallest=4)
    model = SizedSplitModel(split_model(rule, Rule(4, 4, 2, 2, 2), density), lambda keys: keys.data.astype(np.uint16))
    assert model.sizes(Keys(np.array([7, 9]), "int")).tolist() == [7, 9]
    for sizes in ([4], [4, 3], []):
        assert raised(UsageError, model.insert, np.arange(2), sizes=np.array(sizes, np.uint16)) == (
            "one size for each row is needed, none below the smallest: make them with `sizes`."
        )
