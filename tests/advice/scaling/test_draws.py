import pytest

from keybench.advice.scaling.draws import differ, of_draws
from keybench.advice.scaling.leaves import Estimate


def test_draws_that_are_alike_are_put_together() -> None:
    found = [Estimate(200, 2), Estimate(201, 3)]
    assert not differ(found)
    both = of_draws(found)
    assert both.value == pytest.approx(200.5)
    assert both.half == pytest.approx(((2**2 + 3**2) / 4 + 1) ** 0.5)  # chance, and how far they are apart


def test_what_is_no_chance_stays_in_the_mean_of_draws() -> None:
    both = of_draws([Estimate(100, 5, systematic=3), Estimate(100, 4, systematic=2)])
    assert both.systematic == 2.5
    assert both.half == pytest.approx(((2**2 + 2**2) / 4) ** 0.5 + 2.5)


def test_much_chance_may_hide_that_draws_differ() -> None:
    assert differ([Estimate(100, 2.5), Estimate(100, 1.5)])


def test_one_draw_is_as_it_is() -> None:
    assert of_draws([Estimate(100, 2)]) == Estimate(100, 2)


def test_of_draws_that_differ_one_more_may_differ_as_much() -> None:
    found = [Estimate(100, 0.1), Estimate(103, 0.2)]
    assert differ(found)
    of_four = of_draws([*found, Estimate(100, 0.2), Estimate(103, 0.2)])
    assert of_four.value == pytest.approx(101.5)
    assert of_four.half == pytest.approx(3.18 * 3**0.5 * 1.25**0.5, rel=1e-3)  # Student's t, s, one more of four
