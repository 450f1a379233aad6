import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.ranking import is_permutation, ranked
from tests.errors import raised


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1)), unique=True, max_size=50))
def test_ranks_are_the_places_of_the_keys_in_their_order(keys: list[tuple[int, int]]) -> None:
    words = np.array(keys, np.uint64).reshape(-1, 2)
    assert ranked(words).tolist() == [sorted(keys).index(key) for key in keys]


@given(
    st.lists(st.integers(0, 40), unique=True, min_size=1, max_size=40), st.integers(0, 58), st.integers(0, 2**64 - 1)
)
def test_words_that_are_near_each_other_are_ranked_too(near: list[int], shift: int, base: int) -> None:
    keys = [(base + (number << shift)) % 2**64 for number in near]
    assert ranked(np.array(keys, np.uint64)[:, None]).tolist() == [sorted(keys).index(key) for key in keys]


@pytest.mark.parametrize("tied", [0, 0.05, 3])
@pytest.mark.parametrize("ascending", [False, True])
def test_many_keys_are_ranked_alike(tied: float, ascending: bool) -> None:
    draw = np.random.default_rng(5)
    words = draw.integers(0, 1 << 64, (1 << 17, 2), np.uint64)
    words[: int(1000 * tied), 0] = words[0, 0]
    order = np.lexsort(words.T[::-1])
    words, order = (words[order], np.arange(len(words))) if ascending else (words, order)
    ranks = ranked(words)
    assert np.array_equal(ranks[order], np.arange(len(words)))
    words[77] = words[99]
    with pytest.raises(UsageError, match=r"^two of the keys are the same"):
        ranked(words)


@pytest.mark.parametrize("firsts", [1, 3, 1 << 20, 1 << 47, 1 << 62])
@pytest.mark.parametrize("seconds", [2, 1 << 21, 1 << 64])
@pytest.mark.parametrize("from_", [0, 2**63 - 1, 2**64 - 1])
def test_many_keys_whose_first_words_are_near_each_other_are_ranked(firsts: int, seconds: int, from_: int) -> None:
    """As those of processes that count from the same moment on, and put random numbers behind."""
    draw = np.random.default_rng(7)
    n = 1 << 17
    words = np.column_stack([
        draw.integers(0, firsts, n, np.uint64) + np.uint64(from_ - firsts + 1 if from_ >= firsts else from_),
        np.uint64(0) - draw.integers(1, seconds, n, np.uint64, endpoint=seconds < 1 << 64),
        draw.permutation(n).astype(np.uint64),
    ])  # fmt: skip
    assert np.array_equal(ranked(words)[np.lexsort(words.T[::-1])], np.arange(n))


def test_no_keys_have_no_ranks() -> None:
    assert ranked(np.empty((0, 2), np.uint64)).tolist() == []


def test_duplicate_keys_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^two of the keys are the same: a page model takes distinct keys only\.$"):
        ranked(np.array([[7, 1], [7, 2], [7, 1]], np.uint64))


@given(st.lists(st.binary(min_size=16, max_size=16), unique=True, min_size=1, max_size=50))
def test_words_that_differ_only_behind_the_first_are_ranked_too(keys: list[bytes]) -> None:
    data = np.frombuffer(b"".join(b"\0" * 8 + key for key in keys), ">u8").reshape(-1, 3).astype(np.uint64)
    assert ranked(data).tolist() == [sorted(keys).index(key) for key in keys]


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 1000])
def test_each_number_once_in_any_sequence(n: int) -> None:
    numbers = np.random.default_rng(1).permutation(n)
    assert is_permutation(numbers)
    for wrong in (-1, n, n + 64, -(2**62)):
        for place in {0, n // 2, n - 1} if n else ():
            other = numbers.copy()
            other[place] = wrong
            assert not is_permutation(other)


@pytest.mark.parametrize("places", [(0, 1), (0, 999), (400, 700), (998, 999)])
def test_a_number_twice_in_one_part_or_in_two(places: tuple[int, int]) -> None:
    numbers = np.random.default_rng(1).permutation(1000)
    numbers[places[1]] = numbers[places[0]]
    assert not is_permutation(numbers)


@pytest.mark.parametrize("name", [name for name, on in engines().items() if on.has_page_model])
@pytest.mark.parametrize("ranks", [[0, 2], [0, 0], [-1, 0], [1]])
def test_every_page_model_refuses_ranks_that_are_no_permutation(name: str, ranks: list[int]) -> None:
    on = engine(name)
    for role in ("clustered", "nonclustered"):
        model = on.page_model(Table("t", on.default_column("uuid"), 0, role))
        n = len(ranks)
        said = raised(UsageError, model.insert, np.array(ranks, np.int64))
        assert said == f"ranks of {n} rows must be 0 to {n - 1}, each once: make them with `ranked`."
        with pytest.raises(UsageError, match=r"^checkpoints must ascend from 1 to 3, the number of rows: leave out "):
            model.insert(np.arange(3), [4])


def test_integers_of_sqlite_need_one_size_each() -> None:
    on = engine("sqlite")
    model = on.page_model(Table("t", on.default_column("int"), 0, "clustered"))
    with pytest.raises(UsageError, match=r"^one size for each row is needed: make them with `sizes`\.$"):
        model.insert(np.arange(3), sizes=np.ones(2, np.uint16))
