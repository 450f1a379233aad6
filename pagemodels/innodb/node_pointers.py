"""Changes above a page that split: node pointers are inserted and deleted, pages merged (docs/internals/innodb.md §3).

A branch page that loses the node pointer to a page whose first record changed, and has few records then, is merged with
a neighbour. A page whose only node pointer goes is given back; in MariaDB, a neighbour that is then the root's only
child goes up into the root (btr0cur.cc, btr0btr.cc). A leaf that is purged asks for the same (`leave`).

A sorted build, by ALTER TABLE … FORCE or OPTIMIZE TABLE (btr0bulk.cc; btr0load.cc in MySQL; §7), fills one page of each
level after another. A page that is full adds its node pointer to the level above when the next one has its number; the
last ones do so in the end. Then the records of the topmost page are copied to the root, and that page is given back.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, kernel
from keybench.pagemodels.innodb import branch_memory as branch
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb.branch_memory import BranchTree, Ints
from keybench.pagemodels.innodb.leaf_memory import DOWN, ROW, WHAT, directory
from keybench.pagemodels.innodb.records import FILL_FACTORS, require_fill_factor
from keybench.pagemodels.innodb.tablespace import EXTENT, LIMIT, MYSQL, Tablespace, allocate, release, reserve_one
from keybench.pagemodels.ranking import Integers


@kernel
def apply_pending(tree: BranchTree, space: Tablespace, pending: int) -> None:
    """Does the changes on a list of the length `pending`, the last one first, and those that they add. Each is as
    `branch_memory.defer` has written it; its kinds, PUT to RELEASE, are explained there too."""
    while pending > 0:
        pending -= 1
        at, facts = branch.PENDING + branch.CHANGE_FIELDS * pending, tree.facts
        what, level, child, held = facts[at], facts[at + 1], facts[at + 3], facts[at + 4]
        key = changed = facts[at + 2]  # of a PUT a key, of all others the page that changes
        if what == branch.PUT:
            page = branch.find(tree, key, level)
            place = branch.position(tree, page, key)
            if branch.is_full(tree, page):
                pending = branch.split(tree, space, page, place, key, child, pending, held)
            else:
                branch.put(tree, page, place, key, child)
        elif what == branch.DELETE:
            pending = _delete(tree, changed, child, pending, held)
        elif what == branch.REMOVE_FIRST:
            branch.remove(tree, changed, 0, 1)
        elif what == branch.MERGE:
            pending = _merge(tree, changed, pending, held)
        elif what == branch.LIFT:
            if tree.state[tree.facts[branch.ROOT], branch.RECORDS] == 1:
                pending = _lift(tree, changed, pending, held) if level > 0 else _lift_leaf(tree, changed)
        else:  # RELEASE, by its number in the file; the segment of the leaves is the next one
            release(space, tree.facts[branch.SEGMENT] + (level == 0), changed)
            tree.facts[branch.GIVEN_BACK] += level > 0  # which counts branch pages only


@kernel
def _delete(tree: BranchTree, page: int, child: int, pending: int, held: int) -> int:
    """Deletes a page's node pointer to a child, the last one if there are two. Returns the new length of the list of
    `pending` changes, as the next functions do. `held`: insertions on lower levels inside which the change happens."""
    state, keys = tree.state, tree.keys
    level = state[page, branch.LEVEL]
    if state[page, branch.RECORDS] < 2 and page != tree.facts[branch.ROOT]:
        return _discard(tree, page, pending, held)
    at = state[page, branch.RECORDS] - 1
    while tree.children[state[page, branch.BASE] + at] != child:
        at -= 1
    if at == 0 and state[page, branch.LEFT] >= 0:
        # The first record goes, so that the page's own node pointer is deleted and inserted again, with the key of the
        # next record. (What is deferred last is done first.) MariaDB then tries no merge.
        if not tree.facts[branch.SHRINKS]:
            pending = branch.defer(tree, pending, branch.MERGE, level, page, 0, held)
        pending = branch.defer(tree, pending, branch.PUT, level + 1, keys[state[page, branch.BASE] + 1], page, held)
        pending = branch.defer(tree, pending, branch.REMOVE_FIRST, level, page, 0, held)
        father = branch.find(tree, keys[state[page, branch.BASE]], level + 1)
        return branch.defer(tree, pending, branch.DELETE, level + 1, father, page, held)
    branch.remove(tree, page, at, 1)
    if at == 0:
        keys[state[page, branch.BASE]] = branch.MINIMUM  # the first node pointer of a level
    return branch.defer(tree, pending, branch.MERGE, level, page, 0, held)


@kernel
def _discard(tree: BranchTree, page: int, pending: int, held: int) -> int:
    """Gives a branch page back whose only node pointer is deleted. In MariaDB its neighbour goes up into the root if
    that then has no other child (btr_discard_page)."""
    state = tree.state
    level, left, right = state[page, branch.LEVEL], state[page, branch.LEFT], state[page, branch.RIGHT]
    father = branch.find(tree, tree.keys[state[page, branch.BASE]], level + 1)
    if left < 0 and right >= 0:  # the right neighbour begins the level now
        tree.keys[state[right, branch.BASE]] = branch.MINIMUM
    branch.unlink(tree, page)
    if tree.facts[branch.SHRINKS] and father == tree.facts[branch.ROOT]:
        pending = branch.defer(tree, pending, branch.LIFT, level, left if left >= 0 else right, 0, held)
    pending = branch.defer(tree, pending, branch.RELEASE, level, state[page, branch.NUMBER], 0, held)
    return branch.defer(tree, pending, branch.DELETE, level + 1, father, page, held)


@kernel
def _makes_room_for(tree: BranchTree, page: int, sibling: int) -> bool:
    """Whether a page's records fit its sibling, which is reorganised if only that helps. `sibling`: −1 for none."""
    if sibling < 0:
        return False
    state, n = tree.state, tree.state[page, branch.RECORDS]
    needed = n * tree.facts[branch.SIZE]
    if needed > branch.free_bytes(tree, state[sibling, branch.RECORDS], n):
        return False
    if needed > branch.free_bytes(tree, state[sibling, branch.TOP], n):  # as it is, with places without a record
        branch.reorganise(tree, sibling)
    return True


@kernel
def _lift(tree: BranchTree, page: int, pending: int, held: int) -> int:
    """Takes out the father of a level's only page, which takes its place and number and gives its own number back; the
    levels above come down by one. Parameters and result are those of `_delete`."""
    # InnoDB moves the records into the father instead, which ends alike.
    state, root, level = tree.state, tree.facts[branch.ROOT], tree.state[page, branch.LEVEL]
    father = branch.find(tree, branch.MINIMUM, level + 1)
    pending = branch.defer(tree, pending, branch.RELEASE, level, state[page, branch.NUMBER], 0, held)
    state[page, branch.NUMBER] = state[father, branch.NUMBER]
    branch.reorganise(tree, page)
    if father == root:
        tree.facts[branch.ROOT] = page
    else:
        # the first page of each level above: they have no neighbours, as the page below them has none
        above = branch.find(tree, branch.MINIMUM, level + 2)
        tree.children[state[above, branch.BASE]] = page  # in place of the father
        while True:
            state[above, branch.LEVEL] -= 1
            if above == root:
                break
            above = branch.find(tree, branch.MINIMUM, state[above, branch.LEVEL] + 2)  # its old level + 1
    tree.facts[branch.HEIGHT] -= 1
    return pending


@kernel
def _lift_leaf(tree: BranchTree, page: int) -> int:
    """Moves the records of the only leaf into its father, the root. Returns 1: one change is pending, its old page."""
    number, root = tree.leaves[page], tree.facts[branch.ROOT]
    tree.leaves[page] = tree.state[root, branch.NUMBER]
    tree.facts[branch.ROOT], tree.facts[branch.HEIGHT] = -1, 0
    tree.facts[branch.GIVEN_BACK] += 1
    return branch.defer(tree, 0, branch.RELEASE, 0, number, 0, 0)


@kernel
def _merge(tree: BranchTree, page: int, pending: int, held: int) -> int:
    """Merges a page that has few records with its left, or else its right sibling; a level's only page goes up."""
    state, keys, children = tree.state, tree.keys, tree.children
    level, n = state[page, branch.LEVEL], state[page, branch.RECORDS]
    left, right = state[page, branch.LEFT], state[page, branch.RIGHT]
    # 1. Whether it merges, and with which sibling.
    if page == tree.facts[branch.ROOT]:
        return pending
    if left < 0 and right < 0:
        tree.facts[branch.MERGES] += 1
        return _lift(tree, page, pending, held)
    if n * tree.facts[branch.SIZE] >= tree.facts[branch.SPARSE]:
        return pending
    to_left = _makes_room_for(tree, page, left)
    if not to_left and not _makes_room_for(tree, page, right):
        return pending
    # 2. Its records move, and a node pointer goes: its own, or the right sibling's, whose range begins lower then.
    tree.facts[branch.MERGES] += 1
    base = state[page, branch.BASE]
    pending = branch.defer(tree, pending, branch.RELEASE, level, state[page, branch.NUMBER], 0, held)
    father = branch.find(tree, keys[base], level + 1)
    if to_left:
        for i in range(n):
            branch.put(tree, left, state[left, branch.RECORDS], keys[base + i], children[base + i])
        pending = branch.defer(tree, pending, branch.DELETE, level + 1, father, page, held)
    else:
        successor = branch.find(tree, keys[state[right, branch.BASE]], level + 1)
        for i in range(n):
            branch.put(tree, right, i, keys[base + i], children[base + i])
        branch.redirect(tree, father, page, right)
        pending = branch.defer(tree, pending, branch.DELETE, level + 1, successor, right, held)
    branch.unlink(tree, page)
    return pending


@kernel
def follow_purge(tree: BranchTree, space: Tablespace, event: Ints) -> int:
    """Applies an event of a purged leaf (`leaf_splits.purge`). Returns the length of the list of pending changes."""
    reserve_one(space, cleaning=True)
    facts, what, page, other = tree.facts, event[leaf.WHAT], event[leaf.FULL], event[leaf.OTHER]
    if what == leaf.TRIED:
        return 0
    if what == leaf.ALONE:
        facts[branch.MERGES] += 1
        if facts[branch.HEIGHT] == 1:
            return _lift_leaf(tree, page)
        return _lift(tree, branch.find(tree, branch.MINIMUM, 1), 0, 0)  # the only page above the only leaf
    if what == leaf.LAST_ONE:
        return _drop_to_root(tree, space, page)
    father, pending = branch.find(tree, event[leaf.WITHIN] + 1, 1), 0  # keys are ranks plus 1
    if what == leaf.DISCARDED and facts[branch.SHRINKS] and father == facts[branch.ROOT]:
        pending = branch.defer(tree, pending, branch.LIFT, 0, other, 0, 0)
    pending = branch.defer(tree, pending, branch.RELEASE, 0, tree.leaves[page], 0, 0)
    facts[branch.MERGES] += what != leaf.DISCARDED
    if what != leaf.INTO_RIGHT:
        return branch.defer(tree, pending, branch.DELETE, 1, father, page, 0)
    successor = branch.find(tree, event[leaf.SEPARATOR] + 1, 1)
    branch.redirect(tree, father, page, other)
    return branch.defer(tree, pending, branch.DELETE, 1, successor, other, 0)


@kernel
def _drop_to_root(tree: BranchTree, space: Tablespace, page: int) -> int:
    """Gives back all pages below the root, one on each level, which becomes the only leaf, numbered `page` and empty
    (btr_discard_only_page_on_level). Returns the length of the list of pending changes: 0."""
    facts = tree.facts
    release(space, facts[branch.SEGMENT] + 1, tree.leaves[page])
    for level in range(1, facts[branch.HEIGHT]):
        release(space, facts[branch.SEGMENT], tree.state[branch.find(tree, branch.MINIMUM, level), branch.NUMBER])
    facts[branch.GIVEN_BACK] += facts[branch.HEIGHT]
    tree.leaves[page] = tree.state[facts[branch.ROOT], branch.NUMBER]
    facts[branch.ROOT], facts[branch.HEIGHT] = -1, 0
    return 0


_HIGHEST = 1 << 62  # a row above all others


@kernel
def _has_room(tree: BranchTree, space: Tablespace) -> bool:
    """Whether there is memory for all pages and extents that one row may take."""
    return bool(
        tree.facts[branch.PAGES] + branch.MARGIN < len(tree.state)
        and space.facts[LIMIT] // space.facts[EXTENT] + branch.MARGIN < len(space.extents)
    )


@kernel
def follow(tree: BranchTree, space: Tablespace, events: Ints, begin: int, end: int) -> int:
    """Does to branch pages and file what the leaves' events ask for: from event `begin` on, those of rows before `end`,
    or until memory must grow. Returns the index of the event to go on from."""
    for at in range(begin, len(events)):
        if events[at, ROW] >= end or not _has_room(tree, space):
            return at
        if events[at, WHAT] > DOWN:  # an event of a purged leaf
            apply_pending(tree, space, follow_purge(tree, space, events[at]))
            continue
        first = at == 0 or events[at - 1, ROW] < events[at, ROW]
        apply_pending(tree, space, branch.follow_split(tree, space, events[at], first))
    return len(events)


@kernel
def follow_both(
    table: BranchTree, index: BranchTree, space: Tablespace, of_table: Ints, of_index: Ints, table_at: int, at: int
) -> tuple[int, int]:
    """Replays (`follow`) the events of a table, and of an index beside it in the same file, until memory must grow: of
    each row, the table's first. `of_table`, `of_index`: the events of each. `table_at`, `at`: the next event of table
    and index. Returns both, as they are then."""
    while at < len(of_index):
        row = of_index[at, ROW]
        table_at = follow(table, space, of_table, table_at, row + 1)
        if table_at < len(of_table) and of_table[table_at, ROW] <= row:  # memory is full
            break
        reached = follow(index, space, of_index, at, row + 1)
        if reached == at:  # memory is full
            break
        at = reached
    if at == len(of_index):
        table_at = follow(table, space, of_table, table_at, _HIGHEST)
    return table_at, at


_LEVELS = 64  # more levels than any index has
_FEWEST = 2  # records that a page has at least, whatever the fill factor (isSpaceAvailable)


def records_of_full_page(size: int, page_bytes: int, room: int, fill: int) -> int:
    """How many records of `size` bytes a sorted build puts on a page at a fill factor in %. A clustered index keeps a
    sixteenth of its pages free at 100 %, also of its branch pages. `room`: bytes of a page for records and their
    directory. UsageError for a fill factor that InnoDB lacks."""
    require_fill_factor(fill)
    reserved = page_bytes // 16 if fill == max(FILL_FACTORS) else page_bytes * (100 - fill) // 100
    records = _FEWEST
    while room - (records + 1) * size - int(directory(records + 1)) >= reserved:
        records += 1
    return records


@kernel
def _take_page(tree: BranchTree, space: Tablespace, level: int) -> int:
    """Takes a page of the file for a level, 0 for leaves, in a sorted build, and returns its number."""
    if space.facts[MYSQL]:  # only its build reserves an extent for each page
        reserve_one(space, cleaning=False)
    segment = tree.facts[branch.SEGMENT] + (1 if level == 0 else 0)  # leaves have the next one
    return int(allocate(space, segment, hint=0, direction=1))


@kernel
def _add_pointer(
    tree: BranchTree, space: Tablespace, last_pages: NDArray[Any], keep: int, level: int, key: int, child: int
) -> None:
    """Adds a node pointer to a level in a sorted build. A full page there, of `keep` records, is followed by another,
    and its own pointer goes to the level above, and so on. `last_pages`: of each level, −1 for none yet."""
    state = tree.state
    while True:
        page = last_pages[level]
        if page < 0:
            last_pages[level] = branch.new_page(tree, level, _take_page(tree, space, level))
            branch.put(tree, last_pages[level], 0, branch.MINIMUM, child)
            return
        if state[page, branch.RECORDS] < keep:
            branch.put(tree, page, state[page, branch.RECORDS], key, child)
            return
        last_pages[level] = branch.new_page(tree, level, _take_page(tree, space, level))
        branch.link(tree, last_pages[level], page, -1)
        branch.put(tree, last_pages[level], 0, key, child)
        level, key, child = level + 1, tree.keys[state[page, branch.BASE]], page  # the full page's own pointer


@allocating
def build(tree: BranchTree, space: Tablespace, lowers: Integers, keep: int) -> None:
    """Builds the branch pages over leaves with these lowest ranks, (leaves,), and numbers all pages. The file and the
    root, which is leaf 0, are there already; `keep`: node pointers on a full page."""
    facts, state, leaf_pages = tree.facts, tree.state, tree.leaves
    root, last_pages = leaf_pages[0], np.full(_LEVELS, -1)
    # A leaf's node pointer is added when the next leaf has its number; keys are ranks plus 1.
    for i in range(len(lowers)):
        leaf_pages[i] = _take_page(tree, space, 0)
        if i > 0:
            _add_pointer(tree, space, last_pages, keep, 1, lowers[i - 1] + 1, i - 1)
    if len(lowers) == 1:  # its records are copied to the root
        release(space, facts[branch.SEGMENT] + 1, leaf_pages[0])  # + 1: the segment of leaves
        leaf_pages[0] = root
        return
    _add_pointer(tree, space, last_pages, keep, 1, lowers[-1] + 1, len(lowers) - 1)
    level = 1
    while last_pages[level + 1] >= 0:  # the last page of each level still lacks its node pointer
        page = last_pages[level]
        _add_pointer(tree, space, last_pages, keep, level + 1, tree.keys[state[page, branch.BASE]], page)
        level += 1
    # The topmost page's records are copied to the root: here the page takes the root's number instead.
    release(space, facts[branch.SEGMENT], state[last_pages[level], branch.NUMBER])
    state[last_pages[level], branch.NUMBER] = root
    facts[branch.ROOT], facts[branch.HEIGHT] = last_pages[level], level
    if facts[branch.SHRINKS]:  # MariaDB, which does not note which record came last
        state[:, branch.LAST] = branch.FORGOTTEN
