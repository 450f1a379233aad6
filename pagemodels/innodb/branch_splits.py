"""The branch pages of an index of InnoDB: what a split of a leaf asks of them, and when and where they split.

Rules: docs/internals/innodb.md §2 and §3. What a split asks of the level above is put on a list and done after the
split, last in first out (`node_pointers.py`), so that the kernel does not recurse.
"""

from __future__ import annotations

from keybench.compiled import kernel
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb.branch_memory import (
    ATTEMPTS,
    BASE,
    FORGOTTEN,
    FREED,
    HEIGHT,
    LAST,
    LEFT,
    LEVEL,
    MINIMUM,
    NEIGHBOURS,
    NUMBER,
    PAGE_BYTES,
    PAGES,
    PENDING,
    PLACES,
    RECORDS,
    RIGHT,
    ROOT,
    SEGMENT,
    SIZE,
    TOP,
    BranchTree,
    Ints,
    find,
    free_bytes,
    lead_to,
    link,
    move_end,
    put,
    remove,
    reorganise,
)
from keybench.pagemodels.innodb.segments import allocate, single
from keybench.pagemodels.innodb.tablespace import MYSQL, Tablespace, reserve

PUT, DELETE, REMOVE_FIRST, MERGE, LIFT, RELEASE = range(6)


@kernel
def new_page(tree: BranchTree, level: int, number: int) -> int:
    """A new page of a level, with its number in the file."""
    facts, state = tree.facts, tree.state
    page = facts[PAGES]
    facts[PAGES] += 1
    state[page, :] = 0
    state[page, LAST], state[page, LEFT], state[page, RIGHT], state[page, LEVEL] = FORGOTTEN, -1, -1, level
    state[page, NUMBER], state[page, BASE] = number, page * facts[PLACES]
    return int(page)


@kernel
def start(tree: BranchTree, space: Tablespace) -> None:
    """An empty index: one leaf, the root, in a page of the branch segment."""
    tree.leaves[0] = single(space, tree.facts[SEGMENT], 0)
    if space.facts[MYSQL]:  # which makes room for the segment of the leaves, although it is empty
        reserve(space, 0)


@kernel
def enter(tree: BranchTree, space: Tablespace, event: Ints, first: bool) -> int:
    """Applies an event of a full leaf (`leaf_splits.py`). Returns the length of the list of pending changes.

    `first`: whether it is the row's first event. The next ones of the same row belong to the same attempt.
    """
    if first:
        reserve(space, 0)
    facts, numbers, full, other, key = (
        tree.facts, tree.leaves, event[leaf.FULL], event[leaf.OTHER], event[leaf.SEPARATOR] + 1
    )  # fmt: skip
    if facts[ROOT] < 0:
        number = numbers[full]
        numbers[full] = _allocate(tree, space, 0, 0, 0)
        facts[ROOT], facts[HEIGHT] = new_page(tree, 1, number), 1
        put(tree, facts[ROOT], 0, MINIMUM, full)
    facts[ATTEMPTS] += first
    father = find(tree, event[leaf.WITHIN] + 1, 1)
    if event[leaf.WHAT] == leaf.NEIGHBOUR:
        facts[NEIGHBOURS] += 1
        pending = defer(tree, 0, PUT, 1, key, other, 1)
        return defer(tree, pending, DELETE, 1, father, other, 1)
    if event[leaf.WHAT] == leaf.UP:
        numbers[other] = _allocate(tree, space, 0, numbers[full] + 1, 1)
        return defer(tree, 0, PUT, 1, key, other, 1)
    numbers[other] = _allocate(tree, space, 0, numbers[full] - 1, -1)
    lead_to(tree, father, full, other)
    return defer(tree, 0, PUT, 1, key, full, 1)


@kernel
def is_full(tree: BranchTree, page: int) -> bool:
    """Whether a page takes no further record without a split."""
    state, size = tree.state, tree.facts[SIZE]
    n = state[page, RECORDS]
    free = max(0, free_bytes(tree, n, 1))
    if free < size:
        return True
    crowded = state[page, FREED] > 0 and free_bytes(tree, state[page, TOP], 1) < size
    return bool(crowded and free < tree.facts[PAGE_BYTES] // 32 and n > 1)


@kernel
def defer(tree: BranchTree, pending: int, what: int, level: int, one: int, other: int, held: int) -> int:
    """Adds a change to the list of pending changes, inside `held` insertions. Returns the list's new length."""
    at, facts = PENDING + 5 * pending, tree.facts
    facts[at], facts[at + 1], facts[at + 2], facts[at + 3], facts[at + 4] = what, level, one, other, held
    return pending + 1


@kernel
def _allocate(tree: BranchTree, space: Tablespace, level: int, hint: int, direction: int) -> int:
    return allocate(space, tree.facts[SEGMENT] + (1 if level == 0 else 0), hint, direction)


@kernel
def _raise_root(tree: BranchTree, space: Tablespace) -> None:
    """Copies the root's records to a new page below it.

    Here the old page takes the new page number instead, and a new page takes the root's.
    """
    state, page = tree.state, tree.facts[ROOT]
    level, number = state[page, LEVEL], state[page, NUMBER]
    state[page, NUMBER] = _allocate(tree, space, level, 0, 0)
    reorganise(tree, page)
    root = new_page(tree, level + 1, number)
    put(tree, root, 0, MINIMUM, page)
    tree.facts[ROOT], tree.facts[HEIGHT] = root, level + 1


@kernel
def split(
    tree: BranchTree, space: Tablespace, page: int, at: int, key: int, child: int, pending: int, held: int
) -> int:
    """Inserts a record that `is_full` refused. Returns the new length of the list of pending changes."""
    reserve(space, held)
    state, keys, facts = tree.state, tree.keys, tree.facts
    if page == facts[ROOT]:
        _raise_root(tree, space)
    facts[ATTEMPTS] += 1
    level, base, n = state[page, LEVEL], state[page, BASE], state[page, RECORDS]
    right, last = state[page, RIGHT], state[page, LAST]
    roomy = right >= 0 and (state[right, FREED] > 0 or free_bytes(tree, state[right, TOP], 1) >= facts[SIZE])
    if at == n and roomy:
        facts[NEIGHBOURS] += 1
        father = find(tree, keys[state[right, BASE]], level + 1)
        put(tree, right, 0, key, child)
        pending = defer(tree, pending, PUT, level + 1, key, right, held + 1)
        return defer(tree, pending, DELETE, level + 1, father, right, held + 1)
    follows = at > 0 and keys[base + at - 1] == last
    if not follows and at < n and keys[base + at] == last:
        return _split_down(tree, space, page, at, key, child, pending, held)
    new = new_page(tree, level, _allocate(tree, space, level, state[page, NUMBER] + 1, 1))
    first = (n + 2) // 2 - 1
    if follows:
        first = at if at >= n - 1 else at + 1
    alone = follows and at >= n - 1
    pointer = key if alone else keys[base + first]
    link(tree, new, page, right)
    if first < n:
        move_end(tree, page, first, new)
    if alone or at > first:
        put(tree, new, at - first, key, child)
    else:
        put(tree, page, at, key, child)
    return defer(tree, pending, PUT, level + 1, pointer, new, held + 1)


@kernel
def _split_down(
    tree: BranchTree, space: Tablespace, page: int, at: int, key: int, child: int, pending: int, held: int
) -> int:
    """Moves the records below the new one's predecessor to a new left page, which gets the old page's node pointer."""
    state, keys = tree.state, tree.keys
    level, base = state[page, LEVEL], state[page, BASE]
    first = at - 1 if at > 1 else at
    new = new_page(tree, level, _allocate(tree, space, level, state[page, NUMBER] - 1, -1))
    pointer = keys[base + first]
    lead_to(tree, find(tree, keys[base], level + 1), page, new)
    link(tree, new, state[page, LEFT], page)
    for i in range(first):
        put(tree, new, i, keys[base + i], tree.children[base + i])
    if first > 0:
        remove(tree, page, 0, first)
    if at < first or (at == first and key < pointer):
        put(tree, new, at, key, child)
    else:
        put(tree, page, at - first, key, child)
    return defer(tree, pending, PUT, level + 1, pointer, page, held + 1)
