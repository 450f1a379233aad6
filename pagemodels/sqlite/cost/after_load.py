"""Pages that the connection which loaded the rows reads for look-ups right after the load."""

from __future__ import annotations

import numpy as np

from keybench.pagemodels.costs.contract import Load, LookUps
from keybench.pagemodels.costs.look_ups import look_ups
from keybench.pagemodels.sqlite.cost.page_cache import Pager, present
from keybench.pagemodels.sqlite.tree import CELLS, NUMBER, ROWS_IN_LEAVES, Ints, Tree, chain


def after_load(pager: Pager, tree: Tree, table: Tree | None, given: Load) -> LookUps | None:
    """What look-ups read of the leaves of the key's b-tree, and of the table's if the row is there.

    None for several writers, of whom the last one alone has a cache that is valid, and for rows with overflow pages,
    which a look-up reads too.
    """
    if not given.look_ups or not len(given.ranks):
        return None
    several = given.writers is not None and len(np.unique(given.writers)) > 1
    if several or any(len(each.overflow) for each in (tree, table) if each is not None):
        return None
    leaf, here = leaf_of_each(tree)[given.ranks], present(pager)
    return look_ups(leaf, here) if table is None else look_ups(leaf, here, leaf_of_each(table), here)


def leaf_of_each(tree: Tree) -> Ints:
    """The number of the leaf at which a look-up of each rank ends: (rows,).

    A row in a branch page has the leaf on its left: a look-up takes an entry that is equal for a greater one (vdbe.c,
    OP_SeekGE: default_rc), goes down to that leaf, and comes back by sqlite3BtreeNext.
    """
    leaves = tree.leaves[chain(tree)]
    rows = leaves[:, CELLS].astype(np.int64)
    if not tree.facts[ROWS_IN_LEAVES]:
        rows[:-1] += 1
    return np.repeat(leaves[:, NUMBER], rows)
