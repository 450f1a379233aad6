"""SQLite's b-trees in plain Python: every rule of btree.c, nothing optimised. The kernel must equal it.

It is checked against `dbstat` (tests/databases/sqlite/test_page_model.py).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class File:
    """Page numbers: pages given back are used first, then new ones at the end."""

    page_bytes: int = 4096
    pages: int = 1
    trunks: list[list[int]] = field(default_factory=list)
    """The trunk pages of the list of free pages, the first one last, each with the pages that it names behind it."""
    given_back: int = 0
    """Pages ever given back."""

    def take(self, near: int) -> int:
        if self.trunks:
            named = self.trunks[-1]
            if len(named) == 1:
                return self.trunks.pop()[0]
            closest = min(range(1, len(named)), key=lambda i: abs(named[i] - near)) if near else 1
            page = named[closest]
            named[closest] = named[-1]
            named.pop()
            return page
        self.pages += 1
        if self.pages == (1 << 30) // self.page_bytes + 1:  # the page of the lock bytes
            self.pages += 1
        return self.pages

    def give_back(self, page: int) -> None:
        self.given_back += 1
        if self.trunks and len(self.trunks[-1]) - 1 < self.page_bytes // 4 - 8:
            self.trunks[-1].append(page)
        else:
            self.trunks.append([page])

    def take_chain(self, pages: int) -> None:
        """Takes the overflow pages of one record."""
        near = 0
        for _ in range(pages):
            near = self.take(near)


@dataclass(eq=False)
class Page:
    number: int
    leaf: bool = True
    keys: list[int] = field(default_factory=list)
    kids: list[Page] = field(default_factory=list)
    used: int | None = None
    """Bytes of its cells, cached until they change in another way than by an insertion."""


class Tree:
    """One b-tree. `cell(key)` is the size of a key's cell; `divider(key)` that of one in an interior page of a rowid
    table, None for index b-trees, whose interior cells are those of leaves and four bytes."""

    def __init__(
        self,
        file: File,
        cell: Callable[[int], int],
        divider: Callable[[int], int] | None = None,
        page_bytes: int = 4096,
    ) -> None:
        self.file, self.cell, self.rows_in_leaves = file, cell, divider is not None
        self.divider = divider or (lambda key: cell(key) + 4)
        self.page_bytes = page_bytes
        self.root = Page(file.take(0))
        self.largest = -1
        self.key: int | None = None
        self.bulk = False
        self.kinds = {"append": 0, "edge": 0, "interior": 0}

    def size(self, page: Page, key: int) -> int:
        return 2 + (max(4, self.cell(key)) if page.leaf else self.divider(key))

    def room(self, page: Page) -> int:
        return self.page_bytes - (8 if page.leaf else 12)

    def used(self, page: Page) -> int:
        if page.used is None:
            page.used = sum(self.size(page, key) for key in page.keys)
        return page.used

    def insert(self, key: int) -> None:
        path: list[tuple[Page, int]] = []
        page = self.root
        while not page.leaf:
            at = bisect_left(page.keys, key)
            path.append((page, at))
            page = page.kids[at]
        at = bisect_left(page.keys, key)
        page.used = self.used(page) + self.size(page, key)
        page.keys.insert(at, key)
        self.key, self.above = key, key > self.largest
        self.largest = max(self.largest, key)
        if self.used(page) > self.room(page):
            self.balance(page, path)

    def delete(self, key: int) -> None:
        path: list[tuple[Page, int]] = []
        page = self.root
        while True:
            at = bisect_left(page.keys, key)
            if page.leaf or (not self.rows_in_leaves and at < len(page.keys) and page.keys[at] == key):
                break
            path.append((page, at))
            page = page.kids[at]
        depth, found, self.key = len(path), page, None
        if page.leaf:
            assert page.keys.pop(at) == key
        else:  # the row before it takes its place
            while not page.leaf:
                path.append((page, at))
                page = page.kids[at]
                at = len(page.keys)
            found.keys[path[depth][1]] = page.keys.pop()
        page.used = found.used = None
        if key == self.largest:
            self.largest = max(self.present(), default=-1)
        self.balance(page, path)
        if len(path) > depth:
            del path[depth:]
            self.balance(found, path)

    def build(self, keys: list[int]) -> None:
        """Inserts ascending keys into the empty b-tree, as VACUUM does."""
        self.bulk = not self.rows_in_leaves
        for key in keys:
            self.insert(key)
        self.bulk = False

    def balance(self, page: Page, path: list[tuple[Page, int]]) -> None:
        """Goes up the path as far as pages need it, and leaves in it what is above the last one."""
        while True:
            full = self.used(page) > self.room(page)
            if not full and 3 * (self.room(page) - self.used(page)) <= 2 * self.page_bytes:
                return
            if page is self.root:
                if not full:
                    return
                child = Page(self.file.take(page.number), page.leaf, page.keys, page.kids)
                page.leaf, page.keys, page.kids, page.used = False, [], [child], None
                path, page = [(page, 0)], child
            parent, at = path.pop()
            rightmost = at == len(parent.keys) and all(i == len(p.keys) for p, i in path)
            before = len(parent.kids)
            if full and self.rows_in_leaves and page.leaf and page.keys[-1] == self.key and at == len(parent.keys):
                self.quick(parent, page)
            else:
                self.spread(parent, at)
            if page.leaf and self.key is not None:
                kind = "append" if self.above else "edge" if rightmost else "interior"
                self.kinds[kind] += len(parent.kids) - before
            page = parent

    def quick(self, parent: Page, page: Page) -> None:
        new = Page(self.file.take(0), True, [page.keys.pop()])
        parent.keys.append(page.keys[-1])
        parent.kids.append(new)
        page.used = parent.used = None

    def spread(self, parent: Page, at: int) -> None:
        most = 2 if self.bulk else 3
        count = min(most, len(parent.kids))
        first = 0 if count < most or at == 0 else len(parent.kids) - most if at == len(parent.keys) else at - 1
        old = parent.kids[first : first + count]
        leaf = old[0].leaf
        own = leaf and self.rows_in_leaves  # dividers are not rows
        cells: list[int] = []
        ends: list[int] = []
        for i, page in enumerate(old):
            cells += page.keys
            ends.append(len(cells))
            if i < count - 1 and not own:
                cells.append(parent.keys[first + i])
        kids = [kid for page in old for kid in page.kids]
        room = self.room(old[0])
        sizes = [self.size(old[0], key) for key in cells]
        filled = [self.used(page) for page in old]
        i = 0
        while i < len(filled):
            while filled[i] > room:
                if i + 1 >= len(filled):
                    filled.append(0)
                    ends.append(len(cells))
                filled[i] -= sizes[ends[i] - 1]
                filled[i + 1] += sizes[ends[i] - 1] if own else sizes[ends[i]] if ends[i] < len(cells) else 0
                ends[i] -= 1
            while ends[i] < len(cells):
                if filled[i] + sizes[ends[i]] > room:
                    break
                filled[i] += sizes[ends[i]]
                ends[i] += 1
                less = sizes[ends[i] - 1] if own else sizes[ends[i]] if ends[i] < len(cells) else 0
                if i + 1 < len(filled):
                    filled[i + 1] -= less
            i += 1
            if ends[i - 1] >= len(cells):
                break
        n = i
        ends, filled = ends[:n], filled[:n]
        for i in range(n - 1, 0, -1):
            right, left = filled[i], filled[i - 1]
            r = ends[i - 1] - 1
            d = r if own else r + 1
            while r >= 0:
                if right and (self.bulk or right + sizes[d] > left - (sizes[r] - (2 if i == n - 1 else 0))):
                    break
                right += sizes[d]
                left -= sizes[r]
                ends[i - 1] = r
                r, d = r - 1, d - 1
            filled[i], filled[i - 1] = right, left
        numbers = [page.number for page in old[:n]]
        near = numbers[0]
        while len(numbers) < n:
            numbers.append(near := self.file.take(near))
        lifted = parent is self.root and n == 1 and len(parent.kids) == count
        for page in old[0 if lifted else n :]:
            self.file.give_back(page.number)
        new, dividers, begin = [], [], 0
        for i, number in enumerate(sorted(numbers)):
            page = Page(number, leaf, cells[begin : ends[i]])
            if not leaf:
                page.kids, kids = kids[: len(page.keys) + 1], kids[len(page.keys) + 1 :]
            new.append(page)
            if i < n - 1:
                dividers.append(cells[ends[i] - 1] if own else cells[ends[i]])
            begin = ends[i] + (0 if own else 1)
        parent.kids[first : first + count] = new
        parent.keys[first : first + count - 1] = dividers
        parent.used = None
        if lifted:  # the root takes its only child's content
            (child,) = new
            parent.leaf, parent.keys, parent.kids = child.leaf, child.keys, child.kids

    def present(self) -> list[int]:
        def below(page: Page) -> list[int]:
            inner = [key for kid in page.kids for key in below(kid)]
            return inner if self.rows_in_leaves and not page.leaf else [*page.keys, *inner]

        return sorted(below(self.root))

    def leaves(self) -> list[Page]:
        def below(page: Page) -> list[Page]:
            return [page] if page.leaf else [leaf for kid in page.kids for leaf in below(kid)]

        return below(self.root)

    def branches(self) -> int:
        def below(page: Page) -> int:
            return 0 if page.leaf else 1 + sum(map(below, page.kids))

        return below(self.root)
