import numpy as np
import pytest

from keybench.databases.permutation import is_permutation


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
