"""The cache counts what an ordered dict of pages counts."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.pagemodels.costs import lru
from keybench.pagemodels.costs.contract import Load
from keybench.pagemodels.costs.lru import CHANGED, COPIED, LEFT, LOGGED, LOOKED_AT, NEW, READ, LruCache

Touch = tuple[int, int, int, int]
"""Row, page, kind, use."""
Rows = list[list[Touch]]


def plain(
    load: Load, rows: Rows, room: int, private: bool, checkpoint: int, most_uses: tuple[int, int]
) -> list[list[list[int]]]:
    """(parts, what is counted, kinds)."""
    uses = Counter[int]()
    free, kept = OrderedDict[int, None](), OrderedDict[int, None]()  # pages that may leave, and pages that stay
    kinds, changed = dict[int, int](), set[int]()
    counts = [[[0] * 4 for _ in range(4)] for _ in load.ends]
    writers = [0] * len(rows) if load.writers is None else load.writers.tolist()
    in_tx, once, in_log, log_pages, rows_of_tx = set[int](), set[int](), set[int](), 0, 0
    waiting = [0, 0, 0, 0]

    def end() -> None:
        nonlocal log_pages
        if log_pages >= checkpoint:
            log_pages = 0
            in_log.clear()
            for kind in range(4):
                count[COPIED][kind] += waiting[kind]
                waiting[kind] = 0

    def drop() -> None:
        if len(kept) > 0.9 * room:
            page, _ = kept.popitem(last=False)
            free[page] = None
            in_tx.discard(page)
            changed.discard(page)
        while uses[next(iter(free))]:
            page, _ = free.popitem(last=False)
            uses[page] -= 1
            free[page] = None
        page, _ = free.popitem(last=False)
        count[LEFT][kinds[page]] += page in changed
        in_tx.discard(page)
        changed.discard(page)

    for row, touches in enumerate(rows):
        count = counts[next(part for part, end in enumerate(load.ends) if row < end)]
        switches = row > 0 and writers[row] != writers[row - 1]
        if switches or row == load.restart or rows_of_tx == load.rows_per_tx:
            rows_of_tx = 0
            in_tx.clear()
            once.clear()
            free.update(kept)
            kept.clear()
            end()
        while free and (row == load.restart or (private and switches)):
            drop()
        rows_of_tx += 1
        for _, page, kind, use in touches:
            stays = page in free and most_uses[0] > 0
            if page not in free and page not in kept:
                if len(free) + len(kept) == room:
                    drop()
                count[READ][kind] += use != NEW
            kinds[page] = kind
            uses[page] = min(uses[page] + 1, most_uses[kind == lru.TABLE])
            if use != LOOKED_AT and page not in in_tx:
                count[LOGGED][kind] += 1
                waiting[kind] += page not in in_log
                log_pages += page not in once
                once.add(page)
                in_log.add(page)
                in_tx.add(page)
                changed.add(page)
            if stays:
                continue
            free.pop(page, None)
            kept.pop(page, None)
            (kept if private and page in in_tx else free)[page] = None
    end()
    return counts


def random_rows(chance: np.random.Generator, n: int, pages: int) -> Iterator[list[Touch]]:
    """Each touches one to four pages, some of which are new."""
    newest = pages
    for row in range(n):
        touches = []
        for _ in range(chance.integers(1, 5)):
            use = int(chance.choice([LOOKED_AT, CHANGED, NEW]))
            newest += use == NEW
            page = newest if use == NEW else int(chance.integers(1, newest + 1))
            touches.append((row, page, int(chance.integers(4)), use))
        yield touches


def in_chunks(rows: Rows, size: int) -> Iterable[np.ndarray]:
    for first in range(0, len(rows), size):
        yield np.array([touch for touches in rows[first : first + size] for touch in touches], np.int32)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 300),
    pages=st.integers(1, 60),
    room=st.integers(1, 40),
    rows_per_tx=st.integers(1, 20),
    writers=st.integers(1, 3),
    private=st.booleans(),
    restart=st.none() | st.integers(1, 300),
    checkpoint=st.integers(1, 60),
    uses=st.sampled_from([(0, 0), (5, 5), (5, 1)]),
    seed=st.integers(0, 2**32),
)
def test_the_cache_is_a_plain_one(
    n: int, pages: int, room: int, rows_per_tx: int, writers: int, private: bool, restart: int | None,
    checkpoint: int, uses: tuple[int, int], seed: int,
) -> None:  # fmt: skip
    chance = np.random.default_rng(seed)
    private = private and uses[0] == 0
    senders = None if writers == 1 else np.repeat(chance.integers(0, writers, n), 5)[:n].astype(np.int16)
    load = Load(np.arange(n), [n // 3, n], rows_per_tx, senders, restart=restart)
    rows = list(random_rows(chance, n, pages))
    cache = LruCache.empty(load, room, private=private, checkpoint=checkpoint, uses=uses)
    for touches in in_chunks(rows, 70):
        cache.use(touches)
    counts = [cache.counted(what) for what in range(4)]
    found = [[[int(getattr(one, kind)[part]) for kind in KINDS] for one in counts] for part in range(2)]
    assert found == plain(load, rows, room, private, checkpoint, uses)


KINDS = ("leaf", "branch", "table", "other")
"""`contract.Pages`, in the order of `lru.LEAF` and the names behind it."""


def test_kinds_have_the_order_of_pages() -> None:
    assert [lru.LEAF, lru.BRANCH, lru.TABLE, lru.OTHER] == [0, 1, 2, 3]
