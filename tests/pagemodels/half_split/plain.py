"""An index with a past in plain Python: pages of items, one operation after another. PostgreSQL's is built on it.

Where a page splits, and how many entries a build leaves on a page, are the model's own numbers. What else happens to
pages is written here again, from docs/internals.
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from keybench.pagemodels.half_split.build import SortedBuild
from keybench.pagemodels.half_split.kernel import ALONE, HALF_OF_PRESENT, LESS_THAN_HALF, Rule
from keybench.pagemodels.half_split.model import Density, SplitModel


def split_model(leaf: Rule, branch: Rule, density: Density) -> SplitModel:
    """A page model whose index nobody builds from sorted keys."""
    build = SortedBuild(lambda _fill: leaf.room, lambda _fill: branch.room, lambda _fill: leaf)
    return SplitModel(leaf, branch, density, build)


@dataclass(eq=False)
class Page:
    """A page of a level: its lower border, and its items: keys, or the lower borders of the pages below."""

    number: int
    low: int = 0
    items: list[int] = field(default_factory=list)
    recent: list[int] = field(default_factory=list)
    """Those that were inserted since the page was built or split last, the latest last."""


class Plain:
    """One index; keys are ranks. `sizes`: of the entry of each key, if they differ."""

    def __init__(self, model: SplitModel, sizes: Sequence[int] = ()) -> None:
        self.model, self.sizes, self.leaf = model, sizes, model.leaf
        self.dead: set[int] = set()
        self.splits = [0, 0, 0]
        self.begin()

    def begin(self) -> None:
        self.levels = [[Page(0)]]
        self.pages = 1
        self.free: list[int] = []

    def allocate(self) -> int:
        if self.free:
            return self.free.pop(0)
        self.pages += 1
        return self.pages - 1

    def page_of(self, level: int, key: int) -> Page:
        return [page for page in self.levels[level] if page.low <= key][-1]

    def used(self, items: Sequence[int], level: int) -> int:
        return sum(self.sizes[key] for key in items) if self.sizes and not level else len(items)

    def kept(self, page: Page, key: int, rule: Rule, kind: int, level: int) -> int:
        """How many entries stay in a split; the new one, `key`, is among the page's items already."""
        items, keep = page.items, (rule.keep_append, rule.keep_edge, rule.keep_interior)[kind]
        place = items.index(key)
        if keep == ALONE and not kind:
            return len(items) - 1
        if rule.after_latest and page.recent:
            latest = items.index(page.recent[-1])
            if place == latest + 1:
                return min(place + 1, len(items) - 1)
            if rule.before_latest and place == latest - 1 and place > 1:
                return place - 1
        if rule.half == HALF_OF_PRESENT:
            present = [item for item in items if item != key]
            half = self.used(present, level) / 2
            stays = max([k for k in range(len(present)) if self.used(present[:k], level) <= half])
            return max(1, stays + (key < present[stays]))
        if rule.together > 1 and not level:
            keys = [item // rule.together for item in items]
            return next(k for k in rule.choices[kind] if keys[k - 1] != keys[k])
        if not self.sizes or level:
            return keep
        half = self.used(items, level) / 2 - (0.5 if rule.half == LESS_THAN_HALF else 0)
        return max([1, *(k for k in range(1, len(items)) if self.used(items[:k], level) <= half)])

    def insert(self, key: int, level: int = 0) -> None:
        pages, rule = self.levels[level], self.model.branch if level else self.leaf
        page = self.page_of(level, key)
        insort(page.items, key)
        if self.used(page.items, level) <= (rule.room_last if page is pages[-1] else rule.room):
            page.recent.append(key)
            return
        number = self.new_page(level)
        last = page is pages[-1]
        kind = (0 if key == page.items[-1] else 1) if last else 2
        keep = self.kept(page, key, rule, kind, level)
        if rule.after_latest and kind == 0 and keep < len(page.items) - 1:
            kind = 1
        right = Page(number, page.items[keep], page.items[keep:])
        del page.items[keep:]
        if right.items != [key]:  # else nothing moves, and the page's latest entry stays known
            page.recent = [key] if key in page.items else []
        right.recent = [key] if key in right.items else []
        pages.insert(pages.index(page) + 1, right)
        self.splits[kind] += not level
        if level + 1 == len(self.levels):
            self.levels.append([Page(-1, 0, [0, right.low])])
            self.levels[-1][0].number = self.allocate()
            if not level and self.model.root_before_leaf:
                right.number, self.levels[-1][0].number = self.levels[-1][0].number, right.number
        else:
            self.insert(right.low, level + 1)

    def new_page(self, _level: int) -> int:
        return self.allocate()

    def delete(self, key: int) -> None:
        self.dead.add(key)

    def remove(self, page: Page, level: int = 0) -> None:
        """Takes a page, not the first of its level, out of the tree."""
        self.levels[level].remove(page)
        self.free = sorted([*self.free, page.number])
        self.remove_border(page.low, level + 1)

    def remove_border(self, low: int, level: int) -> None:
        """Takes the border of a page out of the page above it."""
        parent = self.page_of(level, low)
        parent.items.remove(low)
        if not parent.items:
            self.remove(parent, level)
        elif parent.low == low:
            self.move_border(parent, parent.items[0], level)

    def move_border(self, page: Page, low: int, level: int) -> None:
        """A page begins later now."""
        if level + 1 < len(self.levels):
            parent = self.page_of(level + 1, page.low)
            parent.items[parent.items.index(page.low)] = low
            if parent.low == page.low:
                self.move_border(parent, low, level + 1)
        page.low = low

    def build(self, keys: Sequence[int], fill: int) -> None:
        self.begin()
        self.dead.clear()
        for key in sorted(keys):
            self.add(0, key, fill)
        for level in range(20):  # the last page of each level goes up at the end; levels come on the way
            if level == len(self.levels) - 1:
                break
            self.add(level + 1, self.levels[level][-1].low, fill)

    def add(self, level: int, key: int, fill: int) -> None:
        build = self.model.build
        if level == len(self.levels):
            self.levels.append([Page(self.allocate())])
        page = self.levels[level][-1]
        room = build.branch(fill) if level else build.leaf(fill)
        if page.items and self.used([*page.items, key], level) > room:
            new = Page(self.allocate(), key)
            if level + 1 == len(self.levels):
                self.levels.append([Page(self.allocate())])
            self.levels[level].append(new)
            self.add(level + 1, page.low, fill)
            page = new
        page.items.append(key)


class PlainSqlServer(Plain):
    """Ghosts stay until the ghost cleanup, which deallocates the pages that it empties, but not the first."""

    def clean(self) -> None:
        for page in list(self.levels[0]):
            page.items = [key for key in page.items if key not in self.dead]
            page.recent = [key for key in page.recent if key not in self.dead]
            if not page.items and page is not self.levels[0][0]:
                self.remove(page)
        self.dead.clear()


class PlainOracle(Plain):
    """An entry that comes into a leaf removes the deleted ones; a split takes a leaf that has only deleted ones."""

    def clean(self) -> None:
        pass

    def insert(self, key: int, level: int = 0) -> None:
        if not level:
            page = self.page_of(0, key)
            page.items = [one for one in page.items if one not in self.dead]
        super().insert(key, level)

    def new_page(self, level: int) -> int:
        empty = [page for page in self.levels[0] if page.items and self.dead.issuperset(page.items)]
        if level or not empty:
            return self.allocate()
        taken = min(empty, key=lambda page: page.number)
        if taken is self.levels[0][0]:  # its right neighbour takes over its range
            after = self.levels[0][1]
            self.remove_border(after.low, 1)
            after.low = 0
            self.levels[0].remove(taken)
        else:
            self.remove(taken)
        self.free = []  # branch blocks are not used again
        return taken.number
