"""The names of all quantities that keybench measures; `definitions` says what each means.

A probe or a timer supplies readings by these names; a report titles its plots from them. Where a server cannot give a
metric, the reading is absent and says why: never zero, never missing.
"""

from __future__ import annotations

from enum import StrEnum


class Metric(StrEnum):
    """Names of metrics; `definitions.DEFINITIONS` holds what each means."""

    INSERT_SECONDS = "insert_seconds"
    FIRST_HALF_SECONDS = "first_half_seconds"
    SECOND_HALF_SECONDS = "second_half_seconds"
    TX_P50_MS = "tx_p50_ms"
    TX_P95_MS = "tx_p95_ms"
    TX_P99_MS = "tx_p99_ms"
    TX_MAX_MS = "tx_max_ms"
    CLIENT_CPU_SHARE = "client_cpu_share"
    CLOCKS_APART_MS = "clocks_apart_ms"
    LEAF_PAGES = "leaf_pages"
    BRANCH_PAGES = "branch_pages"
    LEAF_DENSITY = "leaf_density"
    LEAF_FRAGMENTATION = "leaf_fragmentation"
    LEAF_NONADJACENT = "leaf_nonadjacent"
    APPENDS = "appends"
    EDGE_SPLITS = "edge_splits"
    INTERIOR_SPLITS = "interior_splits"
    BRANCH_SPLITS = "branch_splits"
    EDGE_AND_INTERIOR_SPLITS = "edge_and_interior_splits"
    SPLIT_COUNTER = "split_counter"
    LOG_BYTES = "log_bytes"
    LOG_PAGE_IMAGES = "log_page_images"
    LOG_PAGE_IMAGE_BYTES = "log_page_image_bytes"
    PAGES_READ = "pages_read"
    PAGES_WRITTEN = "pages_written"
    INDEX_BYTES = "index_bytes"
    TABLE_BYTES = "table_bytes"
    LATCH_WAITS = "latch_waits"
    LATCH_WAIT_MS = "latch_wait_ms"
    HEAP_CORRELATION = "heap_correlation"
    POINT_UNIFORM_US = "point_uniform_us"
    POINT_RECENT_US = "point_recent_us"
    RANGE_US_PER_ROW = "range_us_per_row"
    DELETE_SECONDS = "delete_seconds"
    REFILL_SECONDS = "refill_seconds"
    REFILLED_INDEX_BYTES = "refilled_index_bytes"
    KEY_NS = "key_ns"
    DUPLICATE_KEYS = "duplicate_keys"
    ORDER_BREAKS = "order_breaks"
    CLOCK_LEAD_MS = "clock_lead_ms"
    POSITION_MEAN = "position_mean"
    POSITION_P95 = "position_p95"
    LAG_ROWS = "lag_rows"
    LAG_SECONDS = "lag_seconds"
    EDGE_DISTANCE_PAGES = "edge_distance_pages"
    DEEP_INSERTS = "deep_inserts"
    FRONTS = "fronts"
    DISPLACEMENT = "displacement"
    SENTINEL_MS = "sentinel_ms"
    OTHERS_CPU = "others_cpu"
    DISK_WAIT = "disk_wait"
    STOLEN_CPU = "stolen_cpu"


KEYS_ALONE = (Metric.KEY_NS, Metric.DUPLICATE_KEYS, Metric.ORDER_BREAKS, Metric.CLOCK_LEAD_MS)
"""Of trials without a database, which have no others."""

OF_MACHINE = (Metric.SENTINEL_MS, Metric.OTHERS_CPU, Metric.DISK_WAIT, Metric.STOLEN_CPU)
"""Of the machine around a trial, not of its table: their subject is `MACHINE`."""

DEEP_LEAVES = 10
"""An insert more leaves behind the right edge than this is a deep one."""

WINDOW_ROWS, FRONT_ROWS = 1000, 100
"""Insertion fronts: places among so many successive rows that have more than so many older keys between them."""


OF_SOME_ENGINES = (
    Metric.EDGE_AND_INTERIOR_SPLITS,
    Metric.LATCH_WAITS,
    Metric.LATCH_WAIT_MS,
    Metric.CLOCKS_APART_MS,
)
"""Of engines that have just these, and of writers on many machines: others neither give them nor say why not."""
