"""The branch pages of an index of InnoDB: what is in them, when and where they split (docs/internals/innodb.md §2, §3).

A record's place in the page's heap decides which bytes become garbage. Records that were moved away leave a list of
free places, the last one freed at its head. Insertions take places from this list before the heap grows. What a split
asks of the level above is put on a list and done afterwards, last in first out (`node_pointers.py`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, kernel
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb.leaf_memory import directory, places_of_page
from keybench.pagemodels.innodb.records import PAGE_HEADER
from keybench.pagemodels.innodb.tablespace import MYSQL, Tablespace, allocate, reserve, take_single_page
from keybench.pagemodels.memory import move

Ints = NDArray[Any]

RECORDS, FREED, TOP, LAST, BASE, LEVEL, LEFT, RIGHT, NUMBER = range(9)
"""Fields of a page. RECORDS: its records. FREED: free places in its heap. TOP: places in its heap. LAST: the key
inserted last, or FORGOTTEN. BASE: where its records begin in `keys`, `places` and `children`. LEVEL: 1 above the
leaves. LEFT, RIGHT: its neighbours (−1 none). NUMBER: its number in the file."""
_FIELDS = 9

MINIMUM, FORGOTTEN = 0, -1
"""The key of the first node pointer of a level, which is below all others; the value for "no last key"."""

ROOT, HEIGHT, PAGES, GIVEN_BACK = range(4)
"""Fields of `facts`. ROOT: the root's page (−1 while it is a leaf). HEIGHT: levels above the leaves. PAGES: branch
pages ever taken. GIVEN_BACK: branch pages given back."""
ATTEMPTS, NEIGHBOURS, MERGES = range(4, 7)
"""More of them: splits begun on all levels; those that used the right neighbour instead; merges."""
SIZE, PLACES, ROOM, PAGE_BYTES, SEGMENT, SHRINKS, SPARSE = range(7, 14)
"""More of them. SIZE: bytes of a record. PLACES: records that fit a page. ROOM: bytes of a page for records and
directory. PAGE_BYTES: bytes of a page. SEGMENT: number of the branch segment; the leaves have the next one. SHRINKS:
whether it is MariaDB, where the heap shrinks when its topmost record is deleted. SPARSE: bytes of records below which a
page may be merged."""
PENDING, CHANGE_FIELDS = 16, 5
"""Where the list of pending changes begins in `facts`; numbers of a change (`defer`). The last one is done first."""
_MOST_CHANGES = 64
_FACTS = PENDING + CHANGE_FIELDS * _MOST_CHANGES

MARGIN = 64
"""Maximum pages and extents that one row takes: two for each level, and levels are few."""
_FILL = 0.5
"""Expected used share of a page. If it is less, memory grows on the way."""
_GROWTH = 1.25  # factor by which memory grows


class BranchTree(NamedTuple):
    """The state of the branch pages of one index, and the numbers of its leaves."""

    keys: Ints
    """int64: ranks plus 1 (0 is MINIMUM), in ascending order in each page."""
    places: Ints
    """uint16: the place of each record in its page's heap; from the page's end backwards, the free places."""
    children: Ints
    """int32: the pages that node pointers lead to: leaves from level 1, else branch pages."""
    state: Ints
    """int64 (pages, 9): by the names above."""
    leaves: Ints
    """int64 (leaves,): the number of each leaf in the file."""
    facts: Ints
    """int64: by the names above."""


def new(size: int, page_bytes: int, leaves: int, segment: int, *, shrinks: bool, sparse: int) -> BranchTree:
    """A tree without branch pages, but with memory for those that `leaves` leaves usually need; `grow` gives more.
    `size`: bytes of a record. `segment`, `shrinks`, `sparse`: the fields of `facts` with these names."""
    room = page_bytes - PAGE_HEADER
    places = places_of_page(size, room)
    facts = np.zeros(_FACTS, np.int64)
    facts[[ROOT, SIZE, PLACES, ROOM]] = -1, size, places, room
    facts[[PAGE_BYTES, SEGMENT, SHRINKS, SPARSE]] = page_bytes, segment, shrinks, sparse
    pages = int(leaves / (places * _FILL)) + 2 * MARGIN
    return BranchTree(
        keys=np.empty(pages * places, np.int64),
        places=np.empty(pages * places, np.uint16),
        children=np.empty(pages * places, np.int32),
        state=np.empty((pages, _FIELDS), np.int64),
        leaves=np.empty(leaves, np.int64),
        facts=facts,
    )


def grow(tree: BranchTree) -> None:
    """Makes memory for more pages: the arrays grow in place."""
    pages = int(len(tree.state) * _GROWTH)
    for array in (tree.keys, tree.places, tree.children):
        array.resize(pages * int(tree.facts[PLACES]), refcheck=False)
    tree.state.resize((pages, _FIELDS), refcheck=False)


@kernel
def free_bytes(tree: BranchTree, records: int, more: int) -> int:
    """Free bytes of a page with `records` records and a directory for `more` further ones; negative if too many."""
    facts = tree.facts
    return int(facts[ROOM] - records * facts[SIZE] - directory(records + more))


@kernel
def last_not_above(tree: BranchTree, page: int, key: int) -> int:
    """Index in a page, from 0 in key order, of the last node pointer whose key is not above this one."""
    keys, base, n = tree.keys, tree.state[page, BASE], tree.state[page, RECORDS]
    begin = base
    while n > 1:
        half = n >> 1
        base += half * (keys[base + half] <= key)  # a step or none, without a branch
        n -= half
    return int(base - begin)


@kernel
def position(tree: BranchTree, page: int, key: int) -> int:
    """Where a key belongs in a page: the number of records with a lower key."""
    keys, base, end = tree.keys, tree.state[page, BASE], tree.state[page, RECORDS]
    at = 0
    while at < end:
        middle = (at + end) >> 1
        if keys[base + middle] < key:
            at = middle + 1
        else:
            end = middle
    return int(at)


@kernel
def put(tree: BranchTree, page: int, at: int, key: int, child: int) -> None:
    """Inserts a record into a page that has room for it, before the record with index `at`."""
    keys, places, children, state = tree.keys, tree.places, tree.children, tree.state
    n, base = state[page, RECORDS], state[page, BASE]
    if state[page, FREED] > 0:  # the place freed last
        place = places[base + tree.facts[PLACES] - state[page, FREED]]
        state[page, FREED] -= 1
    else:
        place = np.uint16(state[page, TOP])
        state[page, TOP] += 1
    move(keys, base + at + 1, base + at, n - at)
    move(places, base + at + 1, base + at, n - at)
    move(children, base + at + 1, base + at, n - at)
    keys[base + at] = key
    places[base + at] = place
    children[base + at] = child
    state[page, RECORDS] = n + 1
    state[page, LAST] = key


@allocating
def remove(tree: BranchTree, page: int, at: int, count: int) -> None:
    """Deletes `count` records of a page, one by one, from the record with index `at` on."""
    keys, places, children, state = tree.keys, tree.places, tree.children, tree.state
    n, base, capacity = state[page, RECORDS], state[page, BASE], tree.facts[PLACES]
    freed = places[base + at : base + at + count].copy()
    rest = n - count - at
    move(keys, base + at, base + at + count, rest)
    move(places, base + at, base + at + count, rest)
    move(children, base + at, base + at + count, rest)
    for place in freed:
        if tree.facts[SHRINKS] and place == state[page, TOP] - 1:  # the topmost place, in MariaDB
            state[page, TOP] -= 1
        else:
            state[page, FREED] += 1
            places[base + capacity - state[page, FREED]] = place
    state[page, RECORDS] = n - count
    state[page, LAST] = FORGOTTEN


@kernel
def reorganise(tree: BranchTree, page: int) -> None:
    """Copies a page's records into a fresh one: its heap is then in key order, without free places."""
    state, base = tree.state, tree.state[page, BASE]
    for i in range(state[page, RECORDS]):  # keys and children are in key order already: only their places change
        tree.places[base + i] = i
    state[page, TOP], state[page, FREED], state[page, LAST] = state[page, RECORDS], 0, FORGOTTEN


@allocating
def move_end(tree: BranchTree, page: int, first: int, target: int) -> None:
    """Moves the records from index `first` on to the empty page `target`. Their places in the old page are freed from
    the last to the first, so that the first one's is used next."""
    keys, places, children, state = tree.keys, tree.places, tree.children, tree.state
    n, base, capacity = state[page, RECORDS], state[page, BASE], tree.facts[PLACES]
    move(keys, state[target, BASE], base + first, n - first)
    move(children, state[target, BASE], base + first, n - first)
    freed = places[base + first : base + n].copy()
    for place in freed[::-1]:
        state[page, FREED] += 1
        places[base + capacity - state[page, FREED]] = place
    state[page, RECORDS], state[page, LAST] = first, FORGOTTEN
    state[target, RECORDS] = n - first
    reorganise(tree, target)


@kernel
def link(tree: BranchTree, page: int, left: int, right: int) -> None:
    """Puts a page between two neighbours, either of which may be missing (−1)."""
    state = tree.state
    state[page, LEFT], state[page, RIGHT] = left, right
    if left >= 0:
        state[left, RIGHT] = page
    if right >= 0:
        state[right, LEFT] = page


@kernel
def unlink(tree: BranchTree, page: int) -> None:
    """Takes a page out of the chain of its level."""
    left, right = tree.state[page, LEFT], tree.state[page, RIGHT]
    if left >= 0:
        tree.state[left, RIGHT] = right
    if right >= 0:
        tree.state[right, LEFT] = left


@kernel
def find(tree: BranchTree, key: int, level: int) -> int:
    """The page of a level that a key belongs to, by the node pointers from the root down."""
    page = tree.facts[ROOT]
    while tree.state[page, LEVEL] > level:
        page = np.int64(tree.children[tree.state[page, BASE] + last_not_above(tree, page, key)])
    return int(page)


@kernel
def redirect(tree: BranchTree, father: int, old: int, new: int) -> None:
    """Makes the node pointer in the page `father` that leads to page `old` lead to page `new`."""
    begin = tree.state[father, BASE]
    for i in range(begin, begin + tree.state[father, RECORDS]):
        if tree.children[i] == old:
            tree.children[i] = new


PUT, DELETE, REMOVE_FIRST, MERGE, LIFT, RELEASE = range(6)
"""Pending changes. PUT: insert a node pointer, with its key and its child. DELETE: delete the node pointer, in a page,
to a child. REMOVE_FIRST: remove the first record of a page. MERGE: merge a page if it has few records. LIFT: if the
root has one child, move the records of that page into it. RELEASE: give back the page with a number."""


@kernel
def new_page(tree: BranchTree, level: int, number: int) -> int:
    """Makes an empty page of a level, which has the page `number` of the file. Returns its number here."""
    facts, state = tree.facts, tree.state
    page = facts[PAGES]
    facts[PAGES] += 1
    state[page, :] = 0
    state[page, LAST], state[page, LEFT], state[page, RIGHT], state[page, LEVEL] = FORGOTTEN, -1, -1, level
    state[page, NUMBER], state[page, BASE] = number, page * facts[PLACES]
    return int(page)


@kernel
def make_root(tree: BranchTree, space: Tablespace) -> None:
    """Gives an empty index its root, which is its only leaf, in a page of the branch segment."""
    tree.leaves[0] = take_single_page(space, tree.facts[SEGMENT], 0)
    if space.facts[MYSQL]:  # MySQL reserves extents for the segment of the leaves, although that is empty
        reserve(space, 0)


@kernel
def follow_split(tree: BranchTree, space: Tablespace, event: Ints, first: bool) -> int:
    """Applies an event of a full leaf (`leaf_splits.py`). Returns the length of the list of pending changes. `first`:
    whether it is the row's first event. The next ones of the same row belong to the same attempt."""
    if first:
        reserve(space, 0)
    facts, numbers, full, other = tree.facts, tree.leaves, event[leaf.FULL], event[leaf.OTHER]
    key = event[leaf.SEPARATOR] + 1  # keys are ranks plus 1
    if facts[ROOT] < 0:  # the root was a leaf: its records go to a new page, and it leads to that
        number = numbers[full]
        numbers[full] = _allocate(tree, space, 0, 0, 0)
        facts[ROOT], facts[HEIGHT] = new_page(tree, 1, number), 1
        put(tree, facts[ROOT], 0, MINIMUM, full)
    facts[ATTEMPTS] += first
    father = find(tree, event[leaf.WITHIN] + 1, 1)
    if event[leaf.WHAT] == leaf.NEIGHBOUR:
        facts[NEIGHBOURS] += 1
        # The neighbour's node pointer gets a lower key: it is deleted, which is done first, and inserted again.
        pending = defer(tree, 0, PUT, 1, key, other, 1)
        return defer(tree, pending, DELETE, 1, father, other, 1)
    if event[leaf.WHAT] == leaf.UP:
        numbers[other] = _allocate(tree, space, 0, numbers[full] + 1, 1)
        return defer(tree, 0, PUT, 1, key, other, 1)  # on level 1; one insertion, the leaf's, is under way
    # DOWN: the new page takes the full one's node pointer, which gets a new one.
    numbers[other] = _allocate(tree, space, 0, numbers[full] - 1, -1)
    redirect(tree, father, full, other)
    return defer(tree, 0, PUT, 1, key, full, 1)


@kernel
def is_full(tree: BranchTree, page: int) -> bool:
    """Whether a page refuses a further record, so that it must split (btr_cur_optimistic_insert)."""
    state, size = tree.state, tree.facts[SIZE]
    n = state[page, RECORDS]
    free = max(0, free_bytes(tree, n, 1))
    if free < size:
        return True
    crowded = state[page, FREED] > 0 and free_bytes(tree, state[page, TOP], 1) < size
    return bool(crowded and free < tree.facts[PAGE_BYTES] // 32 and n > 1)  # half a sixteenth, as of leaves


@kernel
def defer(tree: BranchTree, pending: int, what: int, level: int, key_or_page: int, child: int, held: int) -> int:
    """Adds a change of a level to the list, which has `pending` changes. Returns its new length. `what`: a name above.
    `key_or_page`, `child`: PUT needs a key and a child, DELETE a page and a child, all others a page. `held`: how many
    insertions on lower levels are under way when it is done; each of them has reserved extents."""
    at, facts = PENDING + CHANGE_FIELDS * pending, tree.facts
    facts[at], facts[at + 1] = what, level
    facts[at + 2], facts[at + 3] = key_or_page, child
    facts[at + 4] = held
    return pending + 1


@kernel
def _allocate(tree: BranchTree, space: Tablespace, level: int, hint: int, direction: int) -> int:
    """Takes a page of the file for a level, and returns its number. `hint`: the number that it should have.
    `direction`: 1 for a page to the right of the one that splits, −1 to the left, 0 for neither."""
    return allocate(space, tree.facts[SEGMENT] + (1 if level == 0 else 0), hint, direction)  # leaves have the next one


@kernel
def _raise_root(tree: BranchTree, space: Tablespace) -> None:
    """Copies the root's records to a page below it: here, the old page takes a new number, a new page the root's."""
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
    """Inserts a record, before the one with index `at`, into a page that `is_full`: into its right neighbour, or by a
    split. Returns the new length of the list of `pending` changes, with those that this asks of the level above.
    `held`: insertions on lower levels that are under way, which have reserved extents."""
    if not space.facts[MYSQL]:  # MySQL reserves only for what it writes to the undo log: rows, and no node pointers
        reserve(space, held)
    state, keys, facts = tree.state, tree.keys, tree.facts
    if page == facts[ROOT]:
        _raise_root(tree, space)
    facts[ATTEMPTS] += 1
    level, base, n = state[page, LEVEL], state[page, BASE], state[page, RECORDS]
    right, last = state[page, RIGHT], state[page, LAST]
    # 1. A record behind all others goes into the right neighbour without a split, if it fits there.
    fits_right = right >= 0 and (state[right, FREED] > 0 or free_bytes(tree, state[right, TOP], 1) >= facts[SIZE])
    if at == n and fits_right:
        facts[NEIGHBOURS] += 1  # the neighbour's node pointer gets a lower key, as in `follow_split`
        father = find(tree, keys[state[right, BASE]], level + 1)
        put(tree, right, 0, key, child)
        pending = defer(tree, pending, PUT, level + 1, key, right, held + 1)
        return defer(tree, pending, DELETE, level + 1, father, right, held + 1)
    # 2. Where the page splits: in the middle, unless the records come in order.
    follows = at > 0 and keys[base + at - 1] == last  # the record before it was inserted last
    if not follows and at < n and keys[base + at] == last:  # the one behind it was
        return _split_down(tree, space, page, at, key, child, pending, held)
    first = (n + 2) // 2 - 1  # the first record that moves to the new page: the middle one, as in `leaf_splits`
    if follows:
        first = at if at >= n - 1 else at + 1  # the next record stays, unless it is the last one
    begins_new = follows and at >= n - 1  # the new record is the lowest of the new page
    pointer = key if begins_new else keys[base + first]
    # 3. The new page on the right, the records that move, and the new one.
    new = new_page(tree, level, _allocate(tree, space, level, state[page, NUMBER] + 1, 1))
    link(tree, new, page, right)
    if first < n:
        move_end(tree, page, first, new)
    if begins_new or at > first:
        put(tree, new, at - first, key, child)
    else:
        put(tree, page, at, key, child)
    return defer(tree, pending, PUT, level + 1, pointer, new, held + 1)


@kernel
def _split_down(
    tree: BranchTree, space: Tablespace, page: int, at: int, key: int, child: int, pending: int, held: int
) -> int:
    """Does what `split` does where the new record's successor was inserted last: moves the records below its
    predecessor to a new left page, which gets the old page's node pointer."""
    state, keys = tree.state, tree.keys
    level, base = state[page, LEVEL], state[page, BASE]
    first = at - 1 if at > 1 else at  # the predecessor stays, unless it would be the only one to move
    new = new_page(tree, level, _allocate(tree, space, level, state[page, NUMBER] - 1, -1))
    pointer = keys[base + first]
    redirect(tree, find(tree, keys[base], level + 1), page, new)
    link(tree, new, state[page, LEFT], page)
    for i in range(first):
        put(tree, new, i, keys[base + i], tree.children[base + i])
    if first > 0:
        remove(tree, page, 0, first)
    if at < first or (at == first and key < pointer):  # it belongs to the left page
        put(tree, new, at, key, child)
    else:
        put(tree, page, at - first, key, child)
    return defer(tree, pending, PUT, level + 1, pointer, page, held + 1)
