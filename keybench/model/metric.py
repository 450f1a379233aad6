"""All quantities that keybench measures, each declared once. To add one, declare it here and write its probe.

Probes and timers supply readings by these names. Reports, exports and checks derive everything else from the
declarations. If a server cannot give a metric, the reading is absent and says why. It is never zero and never missing.
"""

from typing import Final

from keybench.model import definition
from keybench.model.definition import DEEP_LEAVES, HIGHEST, P95, Declared, Theme

__all__ = ["DEEP_LEAVES", "KINDS_OF_SPLITS", "LAG_METRICS", "Metric", "of_theme"]


class Metric(Declared):
    """The name of a metric, with its `definition`. Tables, exports and readings keep this order."""

    # The first line has title, unit and direction. The text follows.
    # fmt: off
    INSERT_SECONDS = "insert_seconds", definition.time(
        "Insert time", "s", "lower",
        "Time from the first row sent to the last acknowledged, all writers; making keys and buffers is outside it.",
        needs_server=True)
    FIRST_HALF_SECONDS = "first_half_seconds", definition.time(
        "Insert time, first half", "s", "lower", "Insert time of the first half of the rows.", needs_server=True)
    SECOND_HALF_SECONDS = "second_half_seconds", definition.time(
        "Insert time, second half", "s", "lower", "Insert time of the second half of the rows.", needs_server=True)
    TX_P50_MS = "tx_p50_ms", definition.time(
        "Transaction time, median", "ms", "lower", "Half the transactions took no longer.")
    TX_P95_MS = "tx_p95_ms", definition.time(
        "Transaction time, p95", "ms", "lower", "95 % of transactions took no longer.")
    TX_P99_MS = "tx_p99_ms", definition.time(
        "Transaction time, p99", "ms", "lower", "99 % of transactions took no longer.")
    TX_MAX_MS = "tx_max_ms", definition.time("Transaction time, longest", "ms", "lower", "The longest transaction.")
    CLIENT_CPU_SHARE = "client_cpu_share", definition.time(
        "Client CPU", "% of wall time", "lower",
        "Processor time of the writer process inside the timed window, over that window. An engine that runs inside "
        "the writer (SQLite) counts as client.")
    CLOCKS_APART_MS = "clocks_apart_ms", definition.contention(
        "Writers' clocks apart", "ms", "lower",
        "The largest possible error in time between writers on several machines. Each writer's clock starts when the "
        "barrier releases all of them.")
    LEAF_PAGES = "leaf_pages", definition.pages("Leaf pages", "pages", "lower", "Leaf pages of the key's index.")
    BRANCH_PAGES = "branch_pages", definition.pages(
        "Branch pages", "pages", "lower", "Non-leaf pages of the key's index.")
    LEAF_DENSITY = "leaf_density", definition.pages(
        "Leaf density", "%", "higher", "Used share of the leaf pages' item space, as the engine defines it.")
    LEAF_FRAGMENTATION = "leaf_fragmentation", definition.pages(
        "Leaf fragmentation", "%", "lower",
        "Share of leaf pages whose successor in key order lies at a lower page number. Random keys tend to 50 %. "
        "Half-empty pages in perfect order do not show here: read it next to density.")
    LEAF_NONADJACENT = "leaf_nonadjacent", definition.pages(
        "Leaf pages not adjacent", "%", "lower",
        "Share of links between successive leaf pages that do not go to the next page number. This is what SQL "
        "Server calls fragmentation, where the next page is the next one that was allocated to the index.")
    APPENDS = "appends", definition.splits(
        "Appends", "splits", "neither",
        "The rightmost leaf was full and the new key was above all present: a new page at the end. Good splits.")
    EDGE_SPLITS = "edge_splits", definition.splits(
        "Edge splits", "splits", "lower", "The rightmost leaf was full and the new key was not above all present.")
    INTERIOR_SPLITS = "interior_splits", definition.splits(
        "Interior splits", "splits", "lower", "A leaf other than the rightmost was full and was split.")
    EDGE_AND_INTERIOR_SPLITS = "edge_and_interior_splits", definition.splits(
        "Edge and interior splits", "splits", "lower",
        "A full leaf was split and some of its rows moved: on engines that do not tell edge from interior splits.",
        some_engines=True)
    BRANCH_SPLITS = "branch_splits", definition.splits("Branch splits", "splits", "lower", "Splits of non-leaf pages.")
    SPLIT_COUNTER = "split_counter", definition.splits(
        "Splits by the server's counter", "splits", "neither",
        "The server's own counter of page splits. It mixes appends, other splits and branch pages of the whole "
        "server; MariaDB's also has insertions that went into the right neighbour instead. SQL Server's and Oracle's "
        "have leaves alone: those of the key's index, and those of the writers' sessions.", exact=False)
    LOG_BYTES = "log_bytes", definition.storage(
        "Log", "bytes", "lower",
        "Bytes that the server's log (WAL, redo) grew by during the inserts.", needs_server=True)
    LOG_PAGE_IMAGES = "log_page_images", definition.storage(
        "Full-page images", "images", "lower",
        "Whole pages written to the log at their first change after a checkpoint.")
    LOG_PAGE_IMAGE_BYTES = "log_page_image_bytes", definition.storage(
        "Full-page images", "bytes", "lower", "Bytes of whole pages written to the log.", needs_server=True)
    PAGES_READ = "pages_read", definition.storage(
        "Pages read", "pages", "lower",
        "Pages that were not in the server's cache when an insert needed them, and were read from its files or the "
        "operating system's cache: of the whole server, during the inserts.", needs_server=True)
    PAGES_WRITTEN = "pages_written", definition.storage(
        "Pages written", "pages", "lower",
        "Pages that the server wrote to its data files during the inserts, by checkpoints and to make room in its "
        "cache; pages that are still only in the cache are not counted.", needs_server=True)
    INDEX_BYTES = "index_bytes", definition.storage(
        "Key's index", "bytes", "lower",
        "Size of the index or b-tree that holds the key.", of_index=True, needs_server=True)
    TABLE_BYTES = "table_bytes", definition.storage(
        "Table with its indexes", "bytes", "lower", "Size of the table and all of its indexes.", needs_server=True)
    LATCH_WAITS = "latch_waits", definition.contention(
        "Waits for page latches", "waits", "lower", "How often a writer waited while another one used a page.")
    LATCH_WAIT_MS = "latch_wait_ms", definition.contention(
        "Time waited for page latches", "ms", "lower", "How long writers waited while others used a page, added up.")
    ROW_LOCK_WAITS = "row_lock_waits", definition.contention(
        "Waits for row locks", "waits", "lower",
        "How often a transaction waited for a lock on a row or on a gap between rows.")
    ROW_LOCK_WAIT_MS = "row_lock_wait_ms", definition.contention(
        "Time waited for row locks", "ms", "lower", "How long transactions waited for such locks, added up.")
    LOG_SYNCS = "log_syncs", definition.contention(
        "Log syncs", "syncs", "neither",
        "How often the server waited until its log was on the disk, during the inserts: one sync ends all transactions "
        "that wait for it. MariaDB: writes of the log.")
    ABORTS = "aborts", definition.contention(
        "Aborts", "per 1,000 transactions", "lower",
        "How often the server rolled a transaction back in favour of others, for each 1,000 transactions that were "
        "committed in the end. Each was tried again at once.")
    DEADLOCKS = "deadlocks", definition.contention(
        "Deadlock victims", "per 1,000 transactions", "lower", "Those aborts by which the server ended a deadlock.")
    RETRIES = "retries", definition.contention(
        "Retries until success", "retries", "lower",
        "Retries of a transaction that the server rolled back at least once; mean.")
    WAITING = "waiting", definition.contention(
        "Writers by wait", "% of writers' time", "neither",
        "Share of samples of the writers' connections, taken outside of the writers, that show this wait. `running`: "
        "no wait; `client`: the server waits for the writer. All kinds are 100 % together.")
    POINT_UNIFORM_US = "point_uniform_us", definition.afterwards(
        "Point look-up, any key", "µs", "lower", "Median time of a look-up by key, keys drawn from the whole table.")
    POINT_RECENT_US = "point_recent_us", definition.afterwards(
        "Point look-up, recent key", "µs", "lower",
        "Median time of a look-up by key among the newest 1 % of the rows.")
    RANGE_US_PER_ROW = "range_us_per_row", definition.afterwards(
        "Range by time", "µs a row", "lower",
        "Time a row to read a window of successive rows by a key range; only where key order is time order.")
    PHASE_ROWS = "phase_rows", definition.phase(
        "Rows of the phase", "rows", "neither", "Rows that it inserts, deletes, updates or looks up.")
    HOT_UPDATES = "hot_updates", definition.phase(
        "HOT updates", "rows", "higher",
        "Rows that the phase updated without a new entry in any index: the new version fitted the row's own page of "
        "the table, and no indexed column changed.")
    ENTRIES_ADDED = "entries_added", definition.phase(
        "Index entries added", "entries", "lower", "Entries that the phase's updates added to the key's index.")
    PHASE_SECONDS = "phase_seconds", definition.phase(
        "Time of the phase", "s", "lower", "Time of one phase of an index's life."
    )
    REBUILD_FREES = "rebuild_frees", definition.phase(
        "Pages that a rebuild would free", "%", "lower",
        "Share of the index's pages that a rebuild at the engine's own fill factor saves. Below 0: it takes more.")
    STRANDED = "stranded", definition.phase(
        "Free room out of reach", "%", "lower",
        "Share of the leaf pages' room that is free and on pages where no row lies that the last insertion brought.")
    KEY_NS = "key_ns", definition.keys(
        "Time to make a key", "ns", "lower",
        "Time from the start of all threads to the end of the last, over all their keys. Clock readings are prepared "
        "before, except where each key is made by one call, which reads the machine's clock as the original does.")
    DUPLICATE_KEYS = "duplicate_keys", definition.keys(
        "Duplicate keys", "keys", "lower", "Keys that some thread of the trial made before.", exact=True)
    ORDER_BREAKS = "order_breaks", definition.keys(
        "Out of order", "keys", "lower",
        "Keys that are not above the one that the same thread made before, in the layout's own order.", exact=True)
    CLOCK_LEAD_MS = "clock_lead_ms", definition.keys(
        "Ahead of the clock", "ms", "lower",
        "The most by which the time in a key is ahead of the clock at which the key was made.", exact=True)
    POSITION_MEAN = "position_mean", definition.position(
        "Insert position, mean", "% of keys", "lower", "Share of the keys present above a new one: 0 if appended.")
    LAGGING_INSERTS = "lagging_inserts", definition.position(
        "Inserts that lag", "% of inserts", "lower", f"Share of inserts with a key above them present. {HIGHEST}")
    LAG_ROWS_P50 = "lag_rows_p50", definition.position(
        "Lag, median", "rows", "lower", f"Keys present above an insert that lags; 0 if none lags. {HIGHEST}")
    LAG_ROWS_P95 = "lag_rows_p95", definition.position("Lag, p95", "rows", "lower", P95)
    LAG_SECONDS_P50 = "lag_seconds_p50", definition.position(
        "Lag, median", "s of the scenario", "lower",
        f"How long ago the right edge of the index passed the place of an insert that lags; 0 if none lags. {HIGHEST}")
    LAG_SECONDS_P95 = "lag_seconds_p95", definition.position("Lag, p95", "s of the scenario", "lower", P95)
    LAG_LEAVES_P50 = "lag_leaves_p50", definition.position(
        "Lag, median", "leaves", "lower",
        f"The lag in rows over the mean rows of a leaf of the finished index. {HIGHEST}")
    LAG_LEAVES_P95 = "lag_leaves_p95", definition.position("Lag, p95", "leaves", "lower", P95)
    DEEP_INSERTS = "deep_inserts", definition.position(
        "Deep inserts", "% of inserts", "lower", f"Share of inserts more than {DEEP_LEAVES} leaves from the edge.")
    SENTINEL_MS = "sentinel_ms", definition.machine(
        "Sentinel", "ms", "lower", "The best of three times of a fixed loop, before the first row: the machine's pace.")
    OTHERS_CPU = "others_cpu", definition.machine(
        "Others' processors", "processors", "lower", "Processors busy before the first row, while the run waits.")
    DISK_WAIT = "disk_wait", definition.machine(
        "Disk wait", "% of wall time", "lower", "Time that a process waits for a disk before the first row is sent.")
    STOLEN_CPU = "stolen_cpu", definition.machine(
        "Stolen processor time", "% of processor time", "lower",
        "What the hypervisor gave to other virtual machines while the rows were sent.")
    # fmt: on


# An insert lags if a key above it is present. Only the inserts that lag count for the distance: a writer that appends
# for an hour and then lags for an hour would otherwise have a median of zero.
LAG_METRICS: Final = (
    Metric.LAGGING_INSERTS, Metric.LAG_ROWS_P50, Metric.LAG_ROWS_P95, Metric.LAG_SECONDS_P50, Metric.LAG_SECONDS_P95,
    Metric.LAG_LEAVES_P50, Metric.LAG_LEAVES_P95,
)  # fmt: skip

KINDS_OF_SPLITS: Final = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
"""By which leaf pages are added."""


def of_theme(theme: Theme) -> tuple[Metric, ...]:
    """The metrics of a theme, in their order."""
    return tuple(metric for metric in Metric if metric.definition.theme is theme)
