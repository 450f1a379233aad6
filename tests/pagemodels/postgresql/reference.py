"""nbtree with a past, in plain Python: pages of items, one operation after another (nbtsort.c, nbtinsert.c, nbtpage.c).

Where a page splits is the model's own rule; what else happens to pages is written here again.
"""

from collections.abc import Sequence

from keybench.pagemodels.half_split.model import SplitModel
from tests.pagemodels.half_split.plain import Page, Plain

SPACE = 8192 - 24 - 16


class Reference(Plain):
    """One index; `item` is the size of an entry with its line pointer, `first` that of a branch page's first entry."""

    def __init__(self, model: SplitModel, item: int, first: int = 12) -> None:
        super().__init__(model)
        self.item, self.first = item, first

    def begin(self) -> None:
        super().begin()
        self.freed: list[int] = []
        self.changed = False

    def insert(self, key: int, level: int = 0) -> None:
        self.changed = True
        super().insert(key, level)

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
            parent = self.page_of(level + 1, page.low)
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

    def build(self, keys: Sequence[int], fill: int) -> None:
        self.leaf = self.model.build.rule(fill)
        super().build(keys, fill)

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
