import numpy as np
import pytest

from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.permutation import is_permutation


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 1000])
def test_each_number_once_in_any_sequence(n: int, threads: int) -> None:
    numbers = np.random.default_rng(1).permutation(n)
    assert is_permutation(numbers, threads)
    for wrong in (-1, n, n + 64, -(2**62)):
        for place in {0, n // 2, n - 1} if n else ():
            other = numbers.copy()
            other[place] = wrong
            assert not is_permutation(other, threads)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("places", [(0, 1), (0, 999), (400, 700), (998, 999)])
def test_a_number_twice_in_one_part_or_in_two(places: tuple[int, int], threads: int) -> None:
    numbers = np.random.default_rng(1).permutation(1000)
    numbers[places[1]] = numbers[places[0]]
    assert not is_permutation(numbers, threads)


@pytest.mark.parametrize("name", [name for name, on in engines().items() if on.has_page_model])
@pytest.mark.parametrize("ranks", [[0, 2], [0, 0], [-1, 0], [1]])
def test_every_page_model_refuses_ranks_that_are_no_permutation(name: str, ranks: list[int]) -> None:
    on = engine(name)
    for role in ("clustered", "nonclustered"):
        model = on.page_model(Table("t", on.default_column("uuid"), 0, role))
        with pytest.raises(UsageError) as refused:
            model.insert(np.array(ranks, np.int64))
        n = len(ranks)
        said = f"ranks of {n} rows must be 0 to {n - 1}, each once: make them with `ranked`."
        assert str(refused.value) == said
        with pytest.raises(UsageError, match=r"^checkpoints must ascend from 1 to 3, the number of rows: leave out "):
            model.insert(np.arange(3), [4])


def test_integers_of_sqlite_need_one_size_each() -> None:
    on = engine("sqlite")
    model = on.page_model(Table("t", on.default_column("int"), 0, "clustered"))
    with pytest.raises(UsageError, match=r"^one size for each row is needed: make them with `sizes`\.$"):
        model.insert(np.arange(3), sizes=np.ones(2, np.uint16))
