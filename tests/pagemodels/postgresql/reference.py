"""nbtree with a past, in plain Python: pages of items, one operation after another (nbtsort.c, nbtinsert.c, nbtpage.c).

Where a page splits is the model's own rule; what else happens to pages is written here again.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from keybench.pagemodels.half_split.state import StatefulSplitModel

SPACE = 8192 - 24 - 16


@dataclass(eq=False)
class Page:
    """A page of a level: its lower border, and its items: keys, or the lower borders of the pages below."""

    number: int
    low: int = 0
    items: list[int] = field(default_factory=list)


class Reference:
    """One index; `item` is the size of an entry with its line pointer, `first` that of a branch page's first entry."""

    def __init__(self, model: StatefulSplitModel, item: int, first: int = 12) -> None:
        self.model, self.item, self.first = model, item, first
        self.levels = [[Page(0)]]
        self.pages = 1
        self.free: list[int] = []
        self.freed: list[int] = []
        self.dead: set[int] = set()
        self.changed = False
        self.splits = [0, 0, 0]
        self.leaf = model.leaf

    def allocate(self) -> int:
        if self.free:
            return self.free.pop(0)
        self.pages += 1
        return self.pages - 1

    def page_of(self, level: int, key: int) -> int:
        pages = self.levels[level]
        return max(place for place, page in enumerate(pages) if page.low <= key)

    def insert(self, key: int, level: int = 0) -> None:
        self.changed = True
        pages, rule = self.levels[level], self.model.branch if level else self.leaf
        place = self.page_of(level, key)
        page, last = pages[place], place == len(pages) - 1
        kind = (0 if key > max(page.items, default=-1) else 1) if last else 2
        insort(page.items, key)
        if len(page.items) <= (rule.room_last if last else rule.room):
            return
        keep = (rule.keep_append, rule.keep_edge, rule.keep_interior)[kind]
        right = Page(self.allocate(), page.items[keep], page.items[keep:])
        del page.items[keep:]
        pages.insert(place + 1, right)
        self.splits[kind] += not level
        if level + 1 == len(self.levels):
            self.levels.append([Page(-1, 0, [0, right.low])])
            self.levels[-1][0].number = self.allocate()
        else:
            self.insert(right.low, level + 1)

    def delete(self, key: int) -> None:
        self.dead.add(key)
        self.changed = True

    def clean(self) -> None:
        if not self.dead and len(self.freed) <= (self.pages + 1) // 20:
            return
        if self.changed:
            self.free, self.freed = sorted(self.free + self.freed), []
        self.changed = False
        for page in sorted(self.levels[0], key=lambda one: one.number):
            page.items = [key for key in page.items if key not in self.dead]
            left: Page | None = page
            while left is not None and left in self.levels[0] and not left.items:
                left = self.unlink(left)
        self.dead.clear()

    def unlink(self, leaf: Page) -> Page | None:
        """Deletes an empty leaf. Returns its right neighbour, or None if it has to stay."""
        going, level = [leaf], 0
        while True:
            pages, page = self.levels[level], going[-1]
            if page is pages[-1]:
                return None
            right = pages[pages.index(page) + 1]
            parent = self.levels[level + 1][self.page_of(level + 1, page.low)]
            if right.low in parent.items:
                break
            if len(parent.items) > 1:
                return None
            going.append(parent)
            level += 1
        parent.items.remove(right.low)
        low = leaf.low
        neighbour = self.levels[0][self.levels[0].index(leaf) + 1]
        for height, page in enumerate(going):
            after = self.levels[height][self.levels[height].index(page) + 1]
            after.low = low
            if height:
                after.items[0] = low
            self.levels[height].remove(page)
            self.freed.append(page.number)
        return neighbour

    def build(self, keys: list[int], fill: int) -> None:
        self.__init__(self.model, self.item, self.first)  # type: ignore[misc]
        self.leaf = self.model.rules.build.rule(fill)
        for key in sorted(keys):
            self.add(0, key, fill)
        for level in range(20):  # the last page of each level goes up at the end; levels come on the way
            if level == len(self.levels) - 1:
                break
            self.add(level + 1, self.levels[level][-1].low, fill)

    def add(self, level: int, key: int, fill: int) -> None:
        if level == len(self.levels):
            self.levels.append([Page(self.allocate())])
        page = self.levels[level][-1]
        used = len(page.items) * self.item - (self.item - self.first if level and page.items else 0)
        free = SPACE - 8 - used
        wanted = 8192 * (100 - (70 if level else fill)) // 100
        if len(page.items) >= 2 and (free < self.item - 4 + (0 if level else 8) or free < wanted):
            last = page.items.pop()
            new = Page(self.allocate(), last, [last])
            if level + 1 == len(self.levels):
                self.levels.append([Page(self.allocate())])
            self.levels[level].append(new)
            self.add(level + 1, page.low, fill)
            page = new
        page.items.append(key)
