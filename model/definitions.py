"""What every quantity that keybench measures means: unit, direction, definition, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keybench.model.metric import DEEP_LEAVES, FRONT_ROWS, WINDOW_ROWS, Metric

Direction = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Definition:
    """What a metric means. `exact`: the same keys in the same order give the same number again."""

    title: str
    unit: str
    better: Direction
    text: str
    exact: bool = False


DEFINITIONS: dict[Metric, Definition] = {
    Metric.INSERT_SECONDS: Definition(
        "Insert time",
        "s",
        "lower",
        "Time from the first row sent to the last acknowledged, all writers; making keys and buffers is outside it.",
    ),
    Metric.FIRST_HALF_SECONDS: Definition(
        "Insert time, first half", "s", "lower", "Insert time of the first half of the rows."
    ),
    Metric.SECOND_HALF_SECONDS: Definition(
        "Insert time, second half", "s", "lower", "Insert time of the second half of the rows."
    ),
    Metric.TX_P50_MS: Definition("Transaction time, median", "ms", "lower", "Half the transactions took no longer."),
    Metric.TX_P95_MS: Definition("Transaction time, p95", "ms", "lower", "95 % of transactions took no longer."),
    Metric.TX_P99_MS: Definition("Transaction time, p99", "ms", "lower", "99 % of transactions took no longer."),
    Metric.TX_MAX_MS: Definition("Transaction time, longest", "ms", "lower", "The longest transaction."),
    Metric.CLIENT_CPU_SHARE: Definition(
        "Client CPU",
        "% of wall time",
        "lower",
        "Processor time of the writer process inside the timed window, over that window. An engine that runs inside "
        "the writer (SQLite) counts as client.",
    ),
    Metric.CLOCKS_APART_MS: Definition(
        "Writers' clocks apart",
        "ms",
        "lower",
        "By how much writers on many machines may be misplaced against one another in time, at most. The clock of each "
        "counts from the moment at which the barrier let all go.",
    ),
    Metric.LEAF_PAGES: Definition("Leaf pages", "pages", "lower", "Leaf pages of the key's index.", exact=True),
    Metric.BRANCH_PAGES: Definition("Branch pages", "pages", "lower", "Non-leaf pages of the key's index.", exact=True),
    Metric.LEAF_DENSITY: Definition(
        "Leaf density", "%", "higher", "Used share of the leaf pages' item space, as the engine defines it.", exact=True
    ),
    Metric.LEAF_FRAGMENTATION: Definition(
        "Leaf fragmentation",
        "%",
        "lower",
        "Share of leaf pages whose successor in key order lies at a lower page number. Random keys tend to 50 %. "
        "Half-empty pages in perfect order do not show here: read it next to density.",
        exact=True,
    ),
    Metric.LEAF_NONADJACENT: Definition(
        "Leaf pages not adjacent",
        "%",
        "lower",
        "Share of links between successive leaf pages that do not go to the next page number. This is what SQL "
        "Server calls fragmentation, where the next page is the next one that was allocated to the index.",
        exact=True,
    ),
    Metric.APPENDS: Definition(
        "Appends",
        "splits",
        "neither",
        "The rightmost leaf was full and the new key was above all present: a new page at the end. Good splits.",
        exact=True,
    ),
    Metric.EDGE_SPLITS: Definition(
        "Edge splits",
        "splits",
        "lower",
        "The rightmost leaf was full and the new key was not above all present.",
        exact=True,
    ),
    Metric.INTERIOR_SPLITS: Definition(
        "Interior splits", "splits", "lower", "A leaf other than the rightmost was full and was split.", exact=True
    ),
    Metric.BRANCH_SPLITS: Definition("Branch splits", "splits", "lower", "Splits of non-leaf pages.", exact=True),
    Metric.EDGE_AND_INTERIOR_SPLITS: Definition(
        "Edge and interior splits",
        "splits",
        "lower",
        "A full leaf was split and some of its rows moved: of engines that do not tell edge splits from interior ones.",
        exact=True,
    ),
    Metric.SPLIT_COUNTER: Definition(
        "Splits by the server's counter",
        "splits",
        "neither",
        "What the server's own counter of page splits says. It mixes appends, other splits and branch pages, of the "
        "whole server; MariaDB's also has insertions that went into the right neighbour instead. SQL Server's and "
        "Oracle's are of leaves alone: of the key's index, and of the writers' sessions.",
    ),
    Metric.LOG_BYTES: Definition(
        "Log", "bytes", "lower", "Bytes that the server's log (WAL, redo) grew by during the inserts."
    ),
    Metric.LOG_PAGE_IMAGES: Definition(
        "Full-page images",
        "images",
        "lower",
        "Whole pages written to the log at their first change after a checkpoint.",
    ),
    Metric.LOG_PAGE_IMAGE_BYTES: Definition(
        "Full-page images", "bytes", "lower", "Bytes of whole pages written to the log."
    ),
    Metric.PAGES_READ: Definition(
        "Pages read",
        "pages",
        "lower",
        "Pages that were not in the server's cache when an insert needed them, and were read from its files or the "
        "operating system's cache: of the whole server, during the inserts.",
    ),
    Metric.PAGES_WRITTEN: Definition(
        "Pages written",
        "pages",
        "lower",
        "Pages that the server wrote to its data files during the inserts, by checkpoints and to make room in its "
        "cache; pages that are still only in the cache are not in it.",
    ),
    Metric.INDEX_BYTES: Definition("Key's index", "bytes", "lower", "Size of the index or b-tree that holds the key."),
    Metric.TABLE_BYTES: Definition(
        "Table with its indexes", "bytes", "lower", "Size of the table and all of its indexes."
    ),
    Metric.LATCH_WAITS: Definition(
        "Waits for page latches", "waits", "lower", "How often a writer waited for another one's use of a page."
    ),
    Metric.LATCH_WAIT_MS: Definition(
        "Time waited for page latches", "ms", "lower", "How long writers waited for others' use of a page, added up."
    ),
    Metric.HEAP_CORRELATION: Definition(
        "Heap order",
        "−1 … 1",
        "neither",
        "Correlation of a row's place in the table's heap with its key's rank: 1 where the table lies in key order.",
    ),
    Metric.POINT_UNIFORM_US: Definition(
        "Point look-up, any key", "µs", "lower", "Median time of a look-up by key, keys drawn from the whole table."
    ),
    Metric.POINT_RECENT_US: Definition(
        "Point look-up, recent key", "µs", "lower", "Median time of a look-up by key among the newest 1 % of the rows."
    ),
    Metric.RANGE_US_PER_ROW: Definition(
        "Range by time",
        "µs a row",
        "lower",
        "Time a row to read a window of successive rows by a key range; only where key order is time order.",
    ),
    Metric.DELETE_SECONDS: Definition("Delete the oldest", "s", "lower", "Time to delete the oldest part of the rows."),
    Metric.REFILL_SECONDS: Definition("Refill", "s", "lower", "Time to insert new rows after the deletion."),
    Metric.REFILLED_INDEX_BYTES: Definition(
        "Key's index after refill",
        "bytes",
        "lower",
        "Size of the key's index after deleting the oldest part and inserting new rows.",
    ),
    Metric.KEY_NS: Definition(
        "Time to make a key",
        "ns",
        "lower",
        "Time from the start of all threads to the end of the last, over all their keys. Clock readings lie ready.",
    ),
    Metric.DUPLICATE_KEYS: Definition(
        "Duplicate keys", "keys", "lower", "Keys that some thread of the trial made before.", exact=True
    ),
    Metric.ORDER_BREAKS: Definition(
        "Out of order",
        "keys",
        "lower",
        "Keys that are not above the one that the same thread made before, in the layout's own order.",
        exact=True,
    ),
    Metric.CLOCK_LEAD_MS: Definition(
        "Ahead of the clock",
        "ms",
        "lower",
        "How far the time in a key is at most ahead of the clock at which the key was made.",
        exact=True,
    ),
    Metric.POSITION_MEAN: Definition(
        "Insert position, mean", "% of keys", "lower", "Share of the keys present above a new one: 0 if appended.", True
    ),
    Metric.POSITION_P95: Definition(
        "Insert position, p95", "% of keys", "lower", "95 % of inserts had no greater share above.", True
    ),
    Metric.LAG_ROWS: Definition(
        "Lag", "rows", "lower", "Keys present above a new one, median over inserts: of all, or of a writer.", exact=True
    ),
    Metric.LAG_SECONDS: Definition(
        "Lag",
        "s of the scenario",
        "lower",
        "How long ago the right edge of the index passed the place of a new key, median over inserts.",
        exact=True,
    ),
    Metric.EDGE_DISTANCE_PAGES: Definition(
        "Distance from the right edge",
        "leaves",
        "lower",
        "Keys present above a new one, by the mean rows of a leaf of the finished index; mean over inserts.",
        exact=True,
    ),
    Metric.DEEP_INSERTS: Definition(
        "Deep inserts", "% of inserts", "lower", f"Share of inserts more than {DEEP_LEAVES} leaves from the edge.", True
    ),
    Metric.FRONTS: Definition(
        "Insertion fronts",
        "fronts",
        "lower",
        f"Places that {WINDOW_ROWS:,} successive rows go to, median; two places have more than {FRONT_ROWS} older keys "
        "between them. 1 for an appended sequence; random keys in a large table have one each.",
        exact=True,
    ),
    Metric.DISPLACEMENT: Definition(
        "Displacement", "% of rows", "lower", "Mean distance of a row's places in order of arrival and of keys.", True
    ),
    Metric.SENTINEL_MS: Definition(
        "Sentinel", "ms", "lower", "The best of three times of a fixed loop, before the first row: the machine's pace."
    ),
    Metric.OTHERS_CPU: Definition(
        "Others' processors", "processors", "lower", "Processors busy before the first row, while the run waits."
    ),
    Metric.DISK_WAIT: Definition(
        "Disk wait", "% of wall time", "lower", "Time that a process waits for a disk before the first row is sent."
    ),
    Metric.STOLEN_CPU: Definition(
        "Stolen processor time",
        "% of processor time",
        "lower",
        "What the hypervisor gave to other virtual machines while the rows were sent.",
    ),
}
