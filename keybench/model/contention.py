"""Declarations of what writers do to one another: waits, transactions that are rolled back, and locks. `metric` names
them."""

from __future__ import annotations

from functools import partial

from keybench.model.definition import Definition, Theme

_contention = partial(Definition, theme=Theme.CONTENTION, some_engines=True)

# fmt: off
CLOCKS_APART_MS = _contention(
    "Writers' clocks apart", "ms", "lower",
    "The largest possible error in time between writers on several machines. Each writer's clock starts when the "
    "barrier releases all of them.",
)
LATCH_WAITS = _contention(
    "Waits for page latches", "waits", "lower",
    "How often a writer waited while another one used a page.",
)
LATCH_WAIT_MS = _contention(
    "Time waited for page latches", "ms", "lower",
    "How long writers waited while others used a page, added up.",
)
ROW_LOCK_WAITS = _contention(
    "Waits for row locks", "waits", "lower",
    "How often a transaction waited for a lock on a row or on a gap between rows.",
)
ROW_LOCK_WAIT_MS = _contention(
    "Time waited for row locks", "ms", "lower",
    "How long transactions waited for such locks, added up.",
)
LOG_SYNCS = _contention(
    "Log syncs", "syncs", "neither",
    "How often the server waited until its log was on the disk, during the inserts: one sync ends all transactions "
    "that wait for it. MariaDB: writes of the log.",
)
ABORTS = _contention(
    "Aborts", "per 1,000 transactions", "lower",
    "How often the server rolled a transaction back in favour of others, for each 1,000 transactions that were "
    "committed in the end. Each was tried again at once.",
)
DEADLOCKS = _contention(
    "Deadlock victims", "per 1,000 transactions", "lower",
    "Those aborts by which the server ended a deadlock.",
)
RETRIES = _contention(
    "Retries until success", "retries", "lower",
    "Retries of a transaction that the server rolled back at least once; mean.",
)
MOST_RETRIES = _contention(
    "Retries until success, most", "retries", "lower",
    "Retries of the transaction that needed most of them.",
)
WAITING = _contention(
    "Writers by wait", "% of writers' time", "neither",
    "Share of samples of the writers' connections, taken outside of the writers, that show this wait. `running`: no "
    "wait; `client`: the server waits for the writer. All kinds are 100 % together.",
)
PREDICATE_LOCKS = _contention(
    "Predicate locks on leaves", "locks", "neither",
    "Locks that serialisable transactions hold on pages of the key's index: mean of samples.",
)
PREDICATE_LEAVES = _contention(
    "Leaves with predicate locks", "leaves", "neither",
    "Pages of the key's index with at least one such lock: mean of samples.",
)
SAME_LEAF = _contention(
    "Transactions that meet on a leaf", "% of transactions", "lower",
    "Share of transactions that insert into a leaf where one of the n − 1 transactions before it inserts, in planned "
    "order, with n writers: leaves of the finished index, by the page model.",
)
# fmt: on
