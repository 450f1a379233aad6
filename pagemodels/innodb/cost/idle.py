"""MariaDB's page cleaner once no more rows come."""

from __future__ import annotations

from keybench.pagemodels.innodb.cost.buffer_pool import walk
from keybench.pagemodels.innodb.cost.page_list import CHANGED, CLEANED, DEPTH, FREE, LEAST, LENGTH, NOW, SHORT, Pool


def oldest_change(pool: Pool) -> int:
    """The time of the oldest change that is not written yet (buf_pool_t::get_oldest_modification); now if there is
    none."""
    changed = pool.frames[:, CHANGED]
    return int(changed[changed > 0].min(initial=pool.state[NOW] + 1)) - 1


def rest(pool: Pool, *, flushes: bool) -> None:
    """The page cleaner walks on until it has no need to.

    While adaptive flushing writes the oldest changes, each round ends with a walk, needed or not: LRU_flush in
    buf_flush_page_cleaner.
    """
    state = pool.state
    enough, least = (state[DEPTH], state[LEAST]) if flushes else (state[DEPTH] // 2, state[SHORT])
    while state[FREE] < enough and state[LENGTH] > least:
        state[NOW] = max(state[NOW], state[CLEANED])
        walk(pool)
