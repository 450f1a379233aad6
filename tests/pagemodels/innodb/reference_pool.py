"""MariaDB's buffer pool, plainly: one Python list of pages, the most recently used first."""

from dataclasses import dataclass, field


@dataclass(eq=False)
class Page:
    """One of the list: several may be alike, as those of the catalogue are."""

    number: int
    changed: bool
    used: int
    old: bool = False
    clock: int = 0
    done: int = 0
    changed_at: int = 0


@dataclass
class PlainPool:
    """As `buffer_pool.Pool`, with the same names for the same rules."""

    frames: int
    catalogue: int
    read_time: int
    batch: int
    batch_time: int
    depth: int
    short: int
    writes: int
    now: int = 0
    cleaned: int = 0
    freed: int = 0
    old_pages: int = 0
    written: int = 0
    taken: int = 0
    """Frames that are no longer free, and not in the list yet."""
    pages: list[Page] = field(default_factory=list)
    defined: bool = False
    """Whether the list has an old part."""

    def __post_init__(self) -> None:
        for _ in range(self.catalogue):
            self._make_room()
            self._insert(Page(-1, changed=False, used=0), 0)

    @property
    def free(self) -> int:
        return self.frames - len(self.pages) - self.taken

    @property
    def least(self) -> int:
        return min(self.frames // 20 - 1, self.short)

    def use(self, number: int, changes: bool) -> int:
        found = next((page for page in self.pages if page.number == number), None)
        if found is None:
            self.now += self.read_time
            self._make_room()
            middle = len(self.pages) - self.old_pages + 1 if self.defined else 0
            self._insert(Page(number, changes, self.now, changed_at=self.now), middle)
            return 1
        if changes:
            self._change(found)
            self.now = max(self.now, found.done)
        if not self.freed:
            return 0
        young = self.frames * (1024 - 378) // (4 * 1024)
        too_old = self.now - found.used >= 10**9 if found.old else self.freed >= found.clock + young
        if too_old:
            self._remove(found)
            self._insert(found, 0)
        return 0

    def create(self, number: int) -> None:
        for page in self.pages:
            if page.number == number:
                self._change(page)
                self._remove(page)
                self._insert(page, 0)
                return
        self._make_room()
        self._insert(Page(number, changed=True, used=self.now, changed_at=self.now), 0)

    def _change(self, page: Page) -> None:
        if not page.changed:
            page.changed, page.changed_at = True, self.now

    def drop(self, number: int) -> None:
        for page in self.pages:
            if page.number == number:
                page.changed = False

    def _insert(self, page: Page, place: int) -> None:
        page.old = place > 0
        if place == 0:
            page.clock = self.freed
        self.pages.insert(place, page)
        self.old_pages += page.old
        if len(self.pages) == 512:
            self.defined, self.old_pages = True, 512
        if len(self.pages) >= 512:
            self._adjust()

    def _remove(self, page: Page) -> None:
        place = self.pages.index(page)
        del self.pages[place]
        if not self.defined:
            return
        if page.old:
            self.old_pages -= 1
            if place == len(self.pages) - self.old_pages:  # the first old one: the one before it takes its part
                self.old_pages += 1
        if len(self.pages) < 512:
            self.defined, self.old_pages = False, 0
            for one in self.pages:
                one.old = False
        else:
            self._adjust()

    def _adjust(self) -> None:
        wanted = min(len(self.pages) * 378 // 1024, len(self.pages) - 25)
        if self.old_pages + 20 < wanted:
            self.old_pages = wanted - 20
        if self.old_pages > wanted + 20:
            self.old_pages = wanted + 20
        for place, page in enumerate(self.pages):
            page.old = place >= len(self.pages) - self.old_pages

    def _may_walk(self) -> bool:
        return len(self.pages) > self.least and self.free < self.depth

    def _free(self, page: Page) -> None:
        self._remove(page)
        self.freed += 1

    def walk(self) -> None:
        writes = 0
        for page in self.pages[::-1]:
            if not self._may_walk() or (page.changed and writes == self.writes):
                break
            if page.changed:
                page.changed = False
                page.done = self.now + (writes // self.batch + 1) * self.batch_time
                writes += 1
            else:
                self._free(page)
        if writes == self.writes:
            for page in self.pages[::-1]:
                if page.changed or not self._may_walk():
                    break
                self._free(page)
        self.written += writes
        self.cleaned = self.now + -(-writes // self.batch) * self.batch_time

    def clean(self) -> None:
        if self.now >= self.cleaned and self.free < self.depth // 2 and len(self.pages) > self.short:
            self.walk()

    def _make_room(self) -> None:
        """A frame is taken from the free ones; only then the cleaner looks how many are left."""
        while self.free == 0:
            self.now = max(self.now, self.cleaned)
            self.walk()
        self.taken = 1
        self.clean()
        self.taken = 0
