"""An index of InnoDB with a past in plain Python: purge, merges of leaves, and the sorted build."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from tests.pagemodels.innodb.reference import Page, Space, Tree, directory


class PastTree(Tree):
    """A clustered index whose records can be purged."""

    def purge(self, key: int) -> None:
        """Removes a record for good (row0purge.cc, btr0cur.cc)."""
        page = self.find(key, 0)
        at = bisect_left(page.keys, key)
        assert page.keys[at] == key
        n, shrinks = len(page.keys), not self.mysql
        rest = (n - 1) * self.sizes[0]
        if page is self.root:
            page.remove(at, shrinks)
            if n == 1:
                page.reorganise()
            return
        alone = not (page.left or page.right)
        if not alone and n >= 2 and rest >= self.sparse:
            page.remove(at, shrinks)
            return
        self.space.reserve(0, 1, cleaning=True)
        if n >= 2:
            page.remove(at, shrinks)
            if alone or rest < self.sparse:
                self.merge(page)
        elif alone:
            self.discard_only(page)
        else:
            self.discard(page)

    def discard_only(self, page: Page) -> None:
        """Gives back the last leaf with its last record, and all branch pages below the root."""
        while page is not self.root:
            father = self.father(page)
            self.space.release(self.segments[page.level > 0], page.number)
            page = father
        self.root = Page(page.number, 0)

    def build(self, keys: Sequence[int], fill: int) -> None:
        """Builds an empty index from sorted keys (btr0bulk.cc, btr0load.cc)."""
        reserved = self.page_bytes // 16 if fill == 100 else self.page_bytes * (100 - fill) // 100
        open_pages: list[Page] = []

        def begin(level: int) -> Page:
            if self.mysql:
                self.space.reserve(0, 1)
            return Page(self.allocate(level, 0, 1), level)

        def add(level: int, key: int, kid: Page | None) -> None:
            if level == len(open_pages):
                open_pages.append(begin(level))
                key = -1 if level else key
            page = open_pages[level]
            n = len(page.keys) + 1
            free = self.room - n * self.size(page) - directory(n)
            if free < 0 or (n > 2 and free < reserved):
                page.right = begin(level)
                page.right.left = page
                add(level + 1, page.keys[0], page)
                page = open_pages[level] = page.right
            page.put(len(page.keys), key, kid)
            if not self.mysql:
                page.last = None

        for key in keys:
            add(0, key, None)
        level = 0
        while level < len(open_pages) - 1:
            add(level + 1, open_pages[level].keys[0], open_pages[level])
            level += 1
        if open_pages:
            top = open_pages[-1]
            self.space.release(self.segments[top.level > 0], top.number)
            top.number = self.root.number
            self.root = top


class Past:
    """`IndexState`, by the rules in plain Python."""

    def __init__(
        self, leaf: int, branch: int, *, mysql: bool = False, page_bytes: int = 16_384, threshold: int = 50
    ) -> None:
        self.given = leaf, branch, mysql, page_bytes, threshold
        self.present: set[int] = set()
        self.deleted: list[int] = []
        self.kinds = {"append": 0, "edge": 0, "interior": 0}
        self.of_earlier = [0, 0]
        self.tree = self.empty()

    @property
    def merges(self) -> int:
        return self.of_earlier[0] + self.tree.merges

    @property
    def counter(self) -> int:
        return self.of_earlier[1] + self.tree.counter

    def empty(self) -> PastTree:
        leaf, branch, mysql, page_bytes, threshold = self.given
        self.space = Space(mysql, page_bytes)
        tree = PastTree(self.space, leaf, branch, True, 0, page_bytes)
        tree.sparse, tree.kinds = page_bytes * threshold // 100, self.kinds
        if mysql:
            self.space.reserve(0)
        return tree

    def build(self, keys: Iterable[int], fill: int) -> None:
        self.present, self.deleted = set(keys), []
        self.of_earlier = [self.merges, self.counter]
        self.tree = self.empty()
        self.tree.build(sorted(self.present), fill)

    def rebuild(self, fill: int) -> None:
        self.build(self.present, fill)

    def insert(self, keys: Iterable[int]) -> None:
        for key in keys:
            self.tree.insert(key)
            self.present.add(key)

    def delete(self, keys: Iterable[int]) -> None:
        for key in keys:
            self.present.remove(key)
            self.deleted.append(key)

    def clean(self) -> None:
        for key in self.deleted:
            self.tree.purge(key)
        self.deleted = []
