import numpy as np
import pytest

from keybench.pagemodels.page_stats import Checkpoint, LeafOrder, PageStats


@pytest.mark.parametrize(
    ("numbers", "back_links", "nonadjacent"),
    [([7], 0, 0), ([3, 4, 5, 6], 0, 0), ([3, 4, 9, 10], 0, 100 / 3), ([9, 8, 7, 6], 75, 100), ([3, 5, 4, 6], 25, 100)],
)
def test_the_order_of_leaves_in_the_file(numbers: list[int], back_links: float, nonadjacent: float) -> None:
    order = LeafOrder.from_chain(np.array(numbers))
    assert (order.back_links, order.nonadjacent) == (back_links, nonadjacent)


def test_links_give_the_same_order_as_the_chain() -> None:
    chain = np.random.default_rng(1).permutation(1000)
    by_number = np.argsort(chain[:-1])
    links = LeafOrder.from_links(chain[:-1][by_number], chain[1:][by_number], len(chain))
    assert links == LeafOrder.from_chain(chain)


def test_no_leaves_have_no_links() -> None:
    order = LeafOrder.from_chain(np.empty(0, np.int64))
    assert (order.back_links, order.nonadjacent) == (0, 0)


def test_an_engine_may_count_leaves_that_are_not_adjacent_as_fragmentation() -> None:
    last, numbers, rows = Checkpoint(9, 4, 3, 0, 0, 75.0), np.array([3, 4, 9, 8]), np.full(4, 2)
    stats = PageStats.from_chain(last, numbers, rows, fragmentation="not adjacent", branch_pages=1)
    assert (stats.fragmentation, stats.back_links, stats.nonadjacent) == (50, 25, 100 * 2 / 3)
    among_others = PageStats.from_chain(last, numbers, rows, among_others=True, branch_pages=1)
    assert (among_others.fragmentation, among_others.back_links) == (25, 25)
    assert np.isnan(among_others.nonadjacent)
