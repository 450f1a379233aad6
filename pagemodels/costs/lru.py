"""One plain cache behind the page models of all engines: the pages used last stay (LRU), or with PostgreSQL those used
most often.

A model lists the pages that its rows touch, in order, as an array of touches: int32 (touches, 4). The cache counts the
pages that are read, the changed pages that leave it, and the pages that a log of whole pages takes (SQLite).
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.costs.contract import Load, Pages
from keybench.pagemodels.costs.touches import part_of

Integers = NDArray[np.int64]
Touches = NDArray[np.int32]

ROW, PAGE, KIND, USE = range(4)
"""Columns of touches. ROW: the row that touches the page, from 0; rows ascend, and each row touches a page. PAGE: the
page's number, from 0. KIND, USE: by the names below."""
COLUMNS = 4
LEAF, BRANCH, TABLE, OTHER = range(4)
"""Kinds of pages, as in `contract.Pages`."""
LOOKED_AT, CHANGED, NEW = range(3)
"""Uses of a page. A new page is changed too, and is not read."""

READ, LEFT, LOGGED, COPIED = range(4)
"""What is counted. READ: pages read. LEFT: changed pages that left the cache, or were written in it (`LruCache.write`).
LOGGED: pages that go to a log of whole pages: each page that a transaction changes, once more if it left the cache in
between. COPIED: different pages of that log that a checkpoint copies to the file."""

_NEWER, _OLDER, _STATE, _KIND, _LOGGED_IN, _USES = range(6)
"""Columns of `_Cache.pages`. _NEWER, _OLDER: the elements of the pages used next after it and next before it. _STATE:
by the names below. _KIND: its kind at its last use. _LOGGED_IN: the transaction that sent it to the log last.
_USES: how often it may yet stay when it is the oldest."""
_ABSENT, _CLEAN, _DIRTY = range(3)
"""States of a page: not in the cache; in it, as it is on disk; in it, and changed."""
_RING, _KEPT, _FIRST_PAGE = range(3)
"""The first elements of `_Cache.pages` are the ends of two rings of pages by last use: _RING of pages that may leave,
_KEPT of those that the transaction has changed in a private cache. Page n is element _FIRST_PAGE + n."""
_ROOM, _HELD, _KEPT_PAGES, _PRIVATE, _LAST_ROW, _TRANSACTION, _LOG_PAGES, _LOG_BEGAN, _CHECKPOINT = range(9)
_MOST_USES, _TABLE_USES, _KEPT_WHEN_FULL = 9, 10, 11
"""Fields of `_Cache.facts`. _ROOM: pages that fit the cache. _HELD: pages in it. _KEPT_PAGES: pages in the ring _KEPT.
_PRIVATE: whether that ring is in use. _LAST_ROW: the row of the last touch. _TRANSACTION: its transaction, from 1.
_LOG_PAGES: pages in the log since the last checkpoint. _LOG_BEGAN: the transaction that followed it. _CHECKPOINT: pages
in the log from which on a transaction ends with a checkpoint. _MOST_USES, _TABLE_USES,
_KEPT_WHEN_FULL: of `LruCache.empty`."""
_MOST_KEPT = 0.9
"""Share of a private cache that changed pages can fill: then one of them may leave for each page that comes
(`n90pct` in SQLite's pcache1.c)."""
_NEVER = 1 << 62
"""More pages of log than any load writes."""

_GOES_ON, _BEGINS, _EMPTIES = range(3)
"""What happens before a row: nothing; a transaction begins; the cache is emptied and a transaction begins."""


class _Cache(NamedTuple):
    pages: NDArray[np.int32]
    """(pages + 2, 6): by the names above."""
    facts: Integers
    """(12,): by the names above."""
    waiting: Integers
    """(4,): different pages in the log since the last checkpoint, by kind."""


@dataclass(frozen=True, eq=False)
class LruCache:
    """A cache, and what a load costs with it."""

    _cache: _Cache
    _before: NDArray[np.uint8]
    """(rows,): what happens before each row."""
    _ends: Integers
    """(parts,): the rows before which each part of the load ends."""
    _counts: Integers
    """(parts, 4, 4): what is counted, by kind of page."""

    @classmethod
    def empty(
        cls,
        load: Load,
        room: int,
        *,
        private: bool = False,
        checkpoint: int = _NEVER,
        uses: tuple[int, int] = (0, 0),
        kept: int = 0,
    ) -> Self:
        """A cache for `room` pages. When it is full, the oldest leave until it has `kept` (0: one less than `room`).

        `private`: each writer has a cache of its own, which it loses when another one has written, and which keeps the
        pages that a transaction changes until it ends; else all writers share one.
        `checkpoint`: pages in a log of whole pages from which on a checkpoint follows.
        `uses`: of a page of the index and of the table, how many of its uses count. For each of them it stays once more
        when it is the oldest, and becomes the newest: a clock. 0: any use makes it the newest.
        """
        facts = np.zeros(_KEPT_WHEN_FULL + 1, np.int64)
        facts[_KEPT_WHEN_FULL] = kept or room - 1
        facts[[_ROOM, _PRIVATE, _LAST_ROW, _CHECKPOINT]] = room, private, -1, checkpoint
        facts[[_MOST_USES, _TABLE_USES]] = uses
        pages = np.zeros((_FIRST_PAGE, _USES + 1), np.int32)
        pages[_KEPT, [_NEWER, _OLDER]] = _KEPT
        return cls(
            _cache=_Cache(pages=pages, facts=facts, waiting=np.zeros(OTHER + 1, np.int64)),
            _before=_before_rows(load, private=private),
            _ends=np.asarray(load.ends, np.int64),
            _counts=np.zeros((len(load.ends), COPIED + 1, OTHER + 1), np.int64),
        )

    def use(self, touches: Touches) -> None:
        """Sends the touches of the next rows through the cache. All touches of a row come in one call."""
        needed = _FIRST_PAGE + int(touches[:, PAGE].max(initial=-1)) + 1
        if needed > len(self._cache.pages):  # half as many again, so that it seldom grows
            self._cache.pages.resize((needed + needed // 2, self._cache.pages.shape[1]), refcheck=False)
        _use_all(self._cache, touches, self._before, self._ends, self._counts)

    def changed(self) -> Integers:
        """The changed pages in the cache, for `write`."""
        return np.flatnonzero(self._cache.pages[:, _STATE] == _DIRTY)

    def write(self, changed: Integers) -> None:
        """Writes those of these pages that have not been written since; they stay in the cache."""
        pages, part = self._cache.pages, np.searchsorted(self._ends, self._cache.facts[_LAST_ROW], side="right")
        dirty = changed[pages[changed, _STATE] == _DIRTY]
        self._counts[part, LEFT] += np.bincount(pages[dirty, _KIND], minlength=OTHER + 1)
        pages[dirty, _STATE] = _CLEAN

    def counted(self, what: int) -> Pages:
        """The pages of each part that were counted so far. `what`: READ, LEFT, LOGGED or COPIED."""
        leaf, branch, table, other = self._counts[:, what].T.copy()
        return Pages(leaf, branch, table, other)


def _before_rows(load: Load, *, private: bool) -> NDArray[np.uint8]:
    """(rows,): _GOES_ON, _BEGINS or _EMPTIES before each row. A transaction has one writer and ends at a restart.
    `private`: whether each writer has a cache of its own, which another writer's turn empties."""
    n = len(load.ranks)
    starts = np.zeros(n, np.bool_)  # rows before which another writer's turn or a restart begins a transaction
    starts[:1] = True
    if load.writers is not None:
        starts[1:] = np.diff(load.writers) != 0  # another writer than that of the row before
    empties = starts.copy() if private else np.zeros(n, np.bool_)
    if load.restart is not None and load.restart < n:
        starts[load.restart] = empties[load.restart] = True
    first_of_turn = np.maximum.accumulate(np.where(starts, np.arange(n), 0))
    begins = (np.arange(n) - first_of_turn) % load.rows_per_tx == 0
    return np.where(empties, _EMPTIES, np.where(begins, _BEGINS, _GOES_ON)).astype(np.uint8)


@kernel
def _take_out(pages: NDArray[np.int32], place: int) -> None:
    """Takes a page out of its ring. `place`: the page's element of `_Cache.pages`, here and below."""
    newer, older = pages[place, _NEWER], pages[place, _OLDER]
    pages[newer, _OLDER], pages[older, _NEWER] = older, newer


@kernel
def _put_in(pages: NDArray[np.int32], place: int, ring: int) -> None:
    """Makes a page the newest of a ring."""
    newest = pages[ring, _OLDER]  # `ring` is the element at both ends: the next older one is the newest page
    pages[place, _NEWER], pages[place, _OLDER] = ring, newest
    pages[ring, _OLDER] = pages[newest, _NEWER] = place


@kernel
def _drop_oldest(cache: _Cache, counts: Integers) -> None:
    """Takes the page used least recently out of the cache. A page that may stay once more (_USES) becomes the newest
    instead. If nearly all pages are in the ring _KEPT, the oldest of these goes to the log first and may leave from
    then on. `counts`: (4, 4), what is counted in this part of the load, by kind of page; added to."""
    pages, facts = cache.pages, cache.facts
    if facts[_KEPT_PAGES] > _MOST_KEPT * facts[_ROOM]:
        place = pages[_KEPT, _NEWER]  # the oldest page of the ring
        _take_out(pages, place)
        _put_in(pages, place, _RING)
        pages[place, _STATE] = _CLEAN
        facts[_KEPT_PAGES] -= 1
    place = pages[_RING, _NEWER]
    while pages[place, _USES] > 0:  # it stays once more, and becomes the newest
        pages[place, _USES] -= 1
        _take_out(pages, place)
        _put_in(pages, place, _RING)
        place = pages[_RING, _NEWER]
    _take_out(pages, place)
    counts[LEFT, pages[place, _KIND]] += pages[place, _STATE] == _DIRTY  # a changed page is written when it leaves
    pages[place, _STATE] = _ABSENT
    facts[_HELD] -= 1


@kernel
def _use(cache: _Cache, place: int, kind: int, use: int, counts: Integers) -> None:
    """Uses a page of this kind. `use`: LOOKED_AT, CHANGED or NEW. `counts`: as of `_drop_oldest`."""
    pages, facts = cache.pages, cache.facts
    stays = pages[place, _STATE] != _ABSENT and facts[_MOST_USES] > 0  # in its place: where uses count, none moves it
    if pages[place, _STATE] == _ABSENT:
        if facts[_HELD] == facts[_ROOM]:
            while facts[_HELD] > facts[_KEPT_WHEN_FULL]:
                _drop_oldest(cache, counts)
        facts[_HELD] += 1
        pages[place, _STATE] = _CLEAN
        counts[READ, kind] += use != NEW
    elif not stays:
        _take_out(pages, place)
    most_uses = facts[_TABLE_USES] if kind == TABLE else facts[_MOST_USES]
    pages[place, _USES] = min(pages[place, _USES] + 1, most_uses)
    pages[place, _KIND] = kind
    is_logged = pages[place, _STATE] == _DIRTY and pages[place, _LOGGED_IN] == facts[_TRANSACTION]
    if use != LOOKED_AT and not is_logged:
        counts[LOGGED, kind] += 1
        cache.waiting[kind] += pages[place, _LOGGED_IN] < facts[_LOG_BEGAN]  # the first time since the checkpoint
        # A page that the same transaction sent to the log before takes its old place there.
        facts[_LOG_PAGES] += pages[place, _LOGGED_IN] != facts[_TRANSACTION]
        facts[_KEPT_PAGES] += facts[_PRIVATE]
        pages[place, _LOGGED_IN], pages[place, _STATE] = facts[_TRANSACTION], _DIRTY
        is_logged = True
    if not stays:
        _put_in(pages, place, _KEPT if is_logged and facts[_PRIVATE] else _RING)


@kernel
def _end(cache: _Cache, counts: Integers) -> None:
    """Ends a transaction: a checkpoint copies the log's pages if they are enough. `counts`: as of `_drop_oldest`."""
    facts = cache.facts
    if facts[_TRANSACTION] == 0 or facts[_LOG_PAGES] >= facts[_CHECKPOINT]:  # 0: none was yet, and the log begins
        for kind in range(len(cache.waiting)):
            counts[COPIED, kind] += cache.waiting[kind]
            cache.waiting[kind] = 0
        facts[_LOG_PAGES], facts[_LOG_BEGAN] = 0, facts[_TRANSACTION] + 1


@kernel
def _begin(cache: _Cache, empties: bool, counts: Integers) -> None:
    """Begins a transaction, perhaps with an empty cache. `counts`: as of `_drop_oldest`."""
    pages, facts = cache.pages, cache.facts
    _end(cache, counts)
    facts[_TRANSACTION] += 1
    if facts[_KEPT_PAGES] > 0:  # the whole ring _KEPT goes behind the newest page of _RING
        oldest, newest, last = pages[_KEPT, _NEWER], pages[_KEPT, _OLDER], pages[_RING, _OLDER]
        pages[last, _NEWER], pages[oldest, _OLDER] = oldest, last
        pages[newest, _NEWER], pages[_RING, _OLDER] = _RING, newest
        pages[_KEPT, _NEWER] = pages[_KEPT, _OLDER] = _KEPT
        facts[_KEPT_PAGES] = 0
    while empties and facts[_HELD] > 0:
        _drop_oldest(cache, counts)


@kernel
def _use_all(cache: _Cache, touches: Touches, before: NDArray[np.uint8], ends: Integers, counts: Integers) -> None:
    """Uses the pages of some rows, one touch after another. `before`, `ends`, `counts`: the fields of `LruCache`."""
    facts = cache.facts
    part = part_of(ends, touches[0, ROW]) if len(touches) > 0 else 0
    for i in range(len(touches)):
        row = touches[i, ROW]
        while ends[part] <= row:
            part += 1
        if row != facts[_LAST_ROW]:
            facts[_LAST_ROW] = row
            if before[row] != _GOES_ON:
                _begin(cache, before[row] == _EMPTIES, counts[part])
        _use(cache, _FIRST_PAGE + touches[i, PAGE], touches[i, KIND], touches[i, USE], counts[part])
    if facts[_LAST_ROW] == len(before) - 1:
        _end(cache, counts[-1])
