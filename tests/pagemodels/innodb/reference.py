"""InnoDB's b-tree and its tablespace in plain Python: every rule, nothing optimised. The kernel must equal it.

It is checked against the files of live servers (tests/databases/mysql/test_page_model.py).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field


def directory(records: int) -> int:
    return (2 * records + 3) // 4


@dataclass
class Space:
    """One tablespace: the owners of pages, and lists of extents in the server's order."""

    mysql: bool = False
    page_bytes: int = 16_384
    size: int = field(init=False)
    limit: int = field(init=False)
    extent: int = field(init=False)
    owner: dict[int, int] = field(default_factory=lambda: {0: -1})
    used: dict[int, set[int]] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    fragments: list[int] = field(default_factory=lambda: [0])
    empty: dict[int, list[int]] = field(default_factory=dict)
    partial: dict[int, list[int]] = field(default_factory=dict)
    full: dict[int, int] = field(default_factory=dict)
    single: dict[int, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.extent = {4096: 256, 8192: 128}.get(self.page_bytes, 64)
        self.limit = self.extent
        self.size = 7 if self.mysql else 4
        self.used[0] = set(range(4 if self.mysql else 3))

    def segment(self, which: int) -> None:
        self.empty[which], self.partial[which], self.full[which], self.single[which] = [], [], 0, set()

    def grow(self) -> None:
        self.size = max(self.size, self.extent)
        self.size += self.extent * (1 if self.size < min(32 * self.extent, self.page_bytes) else 4)

    def reserve(self, held: int, extents: int = 3, cleaning: bool = False) -> None:
        """Grows the file as each insertion that may split requires; it goes on inside `held` others."""
        if self.size < self.extent:
            self.size = max(self.size, len(self.used[0]) + 2)
            return
        while True:
            up = (self.size - self.limit) // self.extent
            if up > 0:
                up -= 1
                up -= up // (self.page_bytes // self.extent)
            free = len(self.free) + up
            kept = -1 if cleaning else 2 + 2 * (self.size // self.extent) // 200
            if free > kept + extents and free >= 3 * held + extents:
                return
            self.grow()

    def fill(self) -> None:
        if self.size < self.limit + 4 * self.extent:
            self.grow()
        count = 0
        while self.limit + self.extent <= self.size and count < 4:
            extent = self.limit // self.extent
            self.limit += self.extent
            if extent * self.extent % self.page_bytes == 0:
                self.owner[extent], self.used[extent] = -1, {0, 1}
                self.fragments.append(extent)
            else:
                self.owner[extent], self.used[extent] = 0, set()
                self.free.append(extent)
                count += 1

    def take_extent(self, hint: int) -> int:
        extent = hint // self.extent
        if not (hint < self.limit and self.owner[extent] == 0):
            if not self.free:
                self.fill()
            extent = self.free[0]
        self.free.remove(extent)
        return extent

    def counts(self, which: int) -> tuple[int, int]:
        partial, empty, single = self.partial[which], self.empty[which], len(self.single[which])
        used = self.full[which] * self.extent + sum(len(self.used[e]) for e in partial) + single
        return used, (self.full[which] + len(partial) + len(empty)) * self.extent + single

    def segment_extent(self, which: int) -> int:
        if self.empty[which]:
            return self.empty[which][0]
        if self.mysql and self.fragments and self.leasable(self.fragments[-1]):
            extent = self.fragments.pop()
            self.owner[extent] = which
            self.partial[which].append(extent)
            return extent
        extent = self.take_extent(0)
        self.owner[extent] = which
        self.empty[which].append(extent)
        return extent

    def leasable(self, extent: int) -> bool:
        return extent * self.extent % self.page_bytes == 0 and self.used[extent] == {0, 1}

    def first_free(self, extent: int, hint: int = 0) -> int:
        for step in range(self.extent):
            at = (hint + step) % self.extent
            if at not in self.used[extent]:
                return extent * self.extent + at
        raise AssertionError

    def allocate(self, which: int, hint: int, direction: int) -> int:
        if self.mysql and self.size < self.extent:
            self.reserve(0)
        used, reserved = self.counts(which)
        if hint >= min(self.limit, self.size):
            hint = 0
        extent = hint // self.extent
        own = self.owner[extent] == which
        spare = reserved - used
        few = used < self.extent // 2
        grow = not few and (spare < reserved / 8 if self.mysql else spare < min(reserved // 8, 4 * self.extent))
        if own and hint % self.extent not in self.used[extent]:
            return self.mark(which, hint)
        if not self.mysql and own and len(self.used[extent]) < self.extent:
            return self.mark(which, self.first_free(extent, hint % self.extent))
        if self.owner[extent] == 0 and grow:
            self.take_extent(hint)
            self.owner[extent] = which
            self.empty[which].append(extent)
            return self.mark(which, hint)
        if direction and grow:
            extent = self.segment_extent(which)
            return self.mark(which, (extent + 1) * self.extent - 1 if direction < 0 else self.first_free(extent))
        if self.mysql and own and len(self.used[extent]) < self.extent:
            return self.mark(which, self.first_free(extent, hint % self.extent))
        if spare > 0:
            return self.mark(which, self.first_free((self.partial[which] or self.empty[which])[0]))
        if few:
            return self.fragment(which, hint)
        return self.mark(which, self.first_free(self.segment_extent(which)))

    def fragment(self, which: int, hint: int) -> int:
        extent = hint // self.extent
        if not (hint < self.limit and self.owner[extent] == -1 and len(self.used[extent]) < self.extent):
            if self.fragments:
                extent, hint = self.fragments[0], 0
            else:
                extent = self.take_extent(hint)
                self.owner[extent] = -1
                self.fragments.append(extent)
                hint = 0 if self.mysql else hint
        page = self.first_free(extent, hint % self.extent)
        self.size = max(self.size, page + 1)
        self.used[extent].add(page % self.extent)
        if len(self.used[extent]) == self.extent:
            self.fragments.remove(extent)
        self.single[which].add(page)
        return page

    def mark(self, which: int, page: int) -> int:
        extent = page // self.extent
        if not self.used[extent]:
            self.empty[which].remove(extent)
            self.partial[which].append(extent)
        self.used[extent].add(page % self.extent)
        if len(self.used[extent]) == self.extent:
            self.partial[which].remove(extent)
            self.full[which] += 1
        return page

    def release(self, which: int, page: int) -> None:
        extent = page // self.extent
        if self.owner[extent] == -1:
            self.single[which].remove(page)
            if len(self.used[extent]) == self.extent:
                self.fragments.append(extent)
        elif len(self.used[extent]) == self.extent:
            self.full[which] -= 1
            self.partial[which].append(extent)
        self.used[extent].remove(page % self.extent)
        if not self.used[extent]:
            (self.fragments if self.owner[extent] == -1 else self.partial[which]).remove(extent)
            self.owner[extent] = 0
            self.free.append(extent)
        elif self.owner[extent] > 0 and self.leasable(extent):
            self.partial[which].remove(extent)
            self.owner[extent] = -1
            self.fragments.append(extent)


@dataclass(eq=False)
class Page:
    number: int
    level: int
    keys: list[int] = field(default_factory=list)
    kids: list[Page] = field(default_factory=list)
    heap: list[int] = field(default_factory=list)
    """Place of each record in the page's heap, in key order."""
    spare: list[int] = field(default_factory=list)
    """Places of deleted records; the last one is used first."""
    top: int = 0
    last: int | None = None
    left: Page | None = None
    right: Page | None = None

    def put(self, at: int, key: int, kid: Page | None) -> None:
        if self.spare:
            place = self.spare.pop()
        else:
            place, self.top = self.top, self.top + 1
        self.keys.insert(at, key)
        self.heap.insert(at, place)
        if kid:
            self.kids.insert(at, kid)
        self.last = key

    def remove(self, at: int, shrinks: bool) -> None:
        place = self.heap.pop(at)
        self.keys.pop(at)
        if self.level:
            self.kids.pop(at)
        if shrinks and place == self.top - 1:
            self.top -= 1
        else:
            self.spare.append(place)
        self.last = None

    def reorganise(self) -> None:
        self.heap, self.spare, self.top, self.last = list(range(len(self.keys))), [], len(self.keys), None


class Tree:
    def __init__(
        self, space: Space, leaf: int, branch: int, clustered: bool, number: int = 0, page_bytes: int = 16_384
    ) -> None:
        self.space, self.sizes, self.clustered, self.mysql = space, (leaf, branch), clustered, space.mysql
        self.page_bytes, self.room = page_bytes, page_bytes - 132
        self.sparse = page_bytes // 2
        self.segments = (number * 2 + 2, number * 2 + 1)  # of leaves, of branch pages
        for segment in self.segments:
            space.segment(segment)
        self.root = Page(space.fragment(self.segments[1], 0), 0)
        self.counter = self.merges = self.right = self.held = 0
        self.kinds = {"append": 0, "edge": 0, "interior": 0}

    def size(self, page: Page) -> int:
        return self.sizes[page.level > 0]

    def find(self, key: int, level: int) -> Page:
        page = self.root
        while page.level > level:
            page = page.kids[max(bisect_right(page.keys, key) - 1, 0)]
        return page

    def insert(self, key: int) -> None:
        self.put(self.find(key, 0), key, None)

    def put(self, page: Page, key: int, kid: Page | None) -> None:
        at = bisect_left(page.keys, key)
        size, n = self.size(page), len(page.keys)
        room = max(0, self.room - n * size - directory(n + 1))
        after = at > 0 and page.last == page.keys[at - 1] and page.last is not None
        before = at < n and page.last == page.keys[at]
        top = self.room - page.top * size - directory(page.top + 1)
        crowded = page.spare and room < self.page_bytes // 32 and n > 1 and top < size
        reserved = self.clustered and not page.level and n >= 2 and self.page_bytes // 16 + size > room
        if room < size or crowded or (reserved and (after or before)):
            self.split(page, at, key, kid)
        else:
            page.put(at, key, kid)

    def allocate(self, level: int, hint: int, direction: int) -> int:
        return self.space.allocate(self.segments[level > 0], hint, direction)

    def split(self, page: Page, at: int, key: int, kid: Page | None) -> None:
        if not (self.mysql and page.level):
            self.space.reserve(self.held)
        self.held += 1
        self.make_room(page, at, key, kid)
        self.held -= 1

    def make_room(self, page: Page, at: int, key: int, kid: Page | None) -> None:
        if page is self.root:
            page = self.raise_root()
        self.counter += not self.mysql
        if at == len(page.keys) and page.right and self.into_right(page, key, kid):
            return
        self.counter += self.mysql
        if not page.level:
            kind = "interior" if page.right else "append" if at == len(page.keys) else "edge"
            self.kinds[kind] += 1
        n = len(page.keys)
        if at > 0 and page.last is not None and page.last == page.keys[at - 1]:
            self.split_up(page, at if at >= n - 1 else at + 1, at < n - 1, at, key, kid, at >= n - 1)
        elif at < n and page.last == page.keys[at]:
            self.split_down(page, at - 1 if at > 1 else at, at, key, kid)
        else:
            middle = (n + 2) // 2 - 1
            self.split_up(page, middle, at <= middle, at, key, kid, False)

    def raise_root(self) -> Page:
        root = self.root
        page = Page(self.allocate(root.level, 0, 0), root.level, root.keys, root.kids)
        page.reorganise()
        self.root = Page(root.number, root.level + 1)
        self.root.put(0, -1, page)
        return page

    def into_right(self, page: Page, key: int, kid: Page | None) -> bool:
        right = page.right
        assert right
        size = self.size(right)
        if not right.spare and self.room - right.top * size - directory(right.top + 1) < size:
            return False
        father = self.find(right.keys[0], right.level + 1)
        right.put(0, key, kid)
        self.right += 1
        self.delete(father, father.kids.index(right))
        self.put(self.find(key, right.level + 1), key, right)
        return True

    def split_up(self, page: Page, first: int, left: bool, at: int, key: int, kid: Page | None, new: bool) -> None:
        right = Page(self.allocate(page.level, page.number + 1, 1), page.level)
        pointer = key if new else page.keys[first]
        self.put(self.find(pointer, page.level + 1), pointer, right)
        right.left, right.right, page.right = page, page.right, right
        if right.right:
            right.right.left = right
        if first < len(page.keys):
            right.keys, right.kids = page.keys[first:], page.kids[first:]
            right.reorganise()
            page.spare += reversed(page.heap[first:])
            del page.keys[first:], page.kids[first:], page.heap[first:]
            page.last = None
        if left:
            page.put(at, key, kid)
        else:
            right.put(at - first, key, kid)

    def split_down(self, page: Page, first: int, at: int, key: int, kid: Page | None) -> None:
        left = Page(self.allocate(page.level, page.number - 1, -1), page.level)
        pointer = page.keys[first]
        father = self.find(page.keys[0], page.level + 1)
        father.kids[father.kids.index(page)] = left
        self.put(self.find(pointer, page.level + 1), pointer, page)
        left.left, left.right, page.left = page.left, page, left
        if left.left:
            left.left.right = left
        for i in range(first):
            left.put(i, page.keys[i], page.kids[i] if page.level else None)
        for _ in range(first):
            page.remove(0, not self.mysql)
        if at < first or (at == first and key < pointer):
            left.put(at, key, kid)
        else:
            page.put(at - first, key, kid)

    def delete(self, page: Page, at: int) -> None:
        if len(page.keys) < 2 and page is not self.root:
            self.discard(page)
            return
        if at == 0:
            following = page.keys[1]
            if page.left:
                father = self.find(page.keys[0], page.level + 1)
                self.delete(father, father.kids.index(page))
                page.remove(0, not self.mysql)
                self.put(self.find(following, page.level + 1), following, page)
                if not self.mysql:
                    return
            else:
                page.remove(0, not self.mysql)
                page.keys[0] = -1
        else:
            page.remove(at, not self.mysql)
        size = self.size(page)
        if page is not self.root and (len(page.keys) * size < self.sparse or not (page.left or page.right)):
            self.merge(page)

    def discard(self, page: Page) -> None:
        """Gives back a page whose only record goes."""
        father = self.father(page)
        under_root = father is self.root
        if page.level and page.right and not page.left:
            page.right.keys[0] = -1
        self.unlink(page)
        self.delete(father, father.kids.index(page))
        self.space.release(self.segments[page.level > 0], page.number)
        neighbour = page.left or page.right
        if neighbour and not self.mysql and under_root and len(self.root.keys) == 1:
            self.lift(neighbour)

    def father(self, page: Page) -> Page:
        return self.find(page.keys[0], page.level + 1)

    def lift(self, page: Page) -> None:
        """The records of a level's only page go up into its father. A leaf's go into the root alone."""
        above = [self.father(page)]
        while above[-1] is not self.root:
            above.append(self.father(above[-1]))
        if page.level == 0 and len(above) > 1:
            page = above.pop(0)
        number, page.number = page.number, above[0].number
        page.reorganise()
        if above[1:]:
            above[1].kids[0] = page
        else:
            self.root = page
        for one in above[1:]:
            one.level -= 1
        self.space.release(self.segments[page.level > 0], number)

    def unlink(self, page: Page) -> None:
        if page.left:
            page.left.right = page.right
        if page.right:
            page.right.left = page.left

    def merge(self, page: Page) -> None:
        if not page.left and not page.right:
            self.merges += 1
            self.lift(page)
            return
        for sibling in (page.left, page.right):
            if sibling and self.fits(page, sibling):
                break
        else:
            return
        assert sibling
        self.merges += 1
        father = self.find(page.keys[0], page.level + 1)
        kids = page.kids if page.level else [None] * len(page.keys)
        if sibling is page.left:
            for key, kid in zip(page.keys, kids, strict=True):
                sibling.put(len(sibling.keys), key, kid)
        else:
            entry = father.kids.index(page)
            first = self.find(sibling.keys[0], page.level + 1)
            for i, (key, kid) in enumerate(zip(page.keys, kids, strict=True)):
                sibling.put(i, key, kid)
        self.unlink(page)
        if sibling is page.left:
            self.delete(father, father.kids.index(page))
        else:
            father.kids[entry] = sibling
            self.delete(first, len(first.kids) - 1 - first.kids[::-1].index(sibling))
        self.space.release(self.segments[page.level > 0], page.number)

    def fits(self, page: Page, sibling: Page) -> bool:
        size, n, m = self.size(page), len(page.keys), len(sibling.keys)
        if n * size > self.room - m * size - directory(n + m):
            return False
        if n * size > max(0, self.room - sibling.top * size - directory(n + sibling.top)):
            sibling.reorganise()
        return True

    def level(self, level: int) -> list[Page]:
        page: Page | None = self.root
        while page and page.level > level:
            page = page.kids[0]
        pages = []
        while page:
            pages.append(page)
            page = page.right
        return pages
