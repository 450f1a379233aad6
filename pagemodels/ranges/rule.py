"""What makes a range split: sizes and loads, as each vendor publishes them. The rules themselves are in `vendors`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class ByLoad:
    """A range splits if it takes too many requests and a key divides them. The default numbers are CockroachDB's.

    Source: pkg/kv/kvserver/split/decider.go and unweighted_finder.go of cockroachdb/cockroach (`load_splits` has the
    rule).
    """

    per_second: float
    """Requests a second above which keys are sampled."""
    seconds: float = 10.0
    """A sample is judged after more than this time (RecordDurationThreshold)."""
    pause: float = 60.0
    """Time between two proposals to split the same range (minSplitSuggestionInterval)."""
    candidates: int = 20
    """Keys in a sample (splitKeySampleSize)."""
    least: int = 100
    """Requests that a candidate must have seen (splitKeyMinCounter)."""
    imbalance: float = 0.25
    """A candidate needs less: |left − right| over left + right (splitKeyThreshold)."""


@dataclass(frozen=True)
class SplitRule:
    """When and where the ranges of a table split."""

    name: str
    title: str
    sizes: tuple[tuple[float, float], ...]
    """(ranges, bytes): while the table has at most so many ranges, one splits that has more than so many bytes. The
    first entry that fits applies."""
    left_bytes: float = 0.0
    """Bytes that stay on the left of a split by size; 0: half of the range."""
    by_load: ByLoad | None = None
    share_of_table: float = 0.0
    """In place of bytes: the share of the finished table that a range may hold."""
    source: str = ""

    def limit(self, ranges: int, rows: int, row_bytes: float) -> float:
        """The most rows of a range, given the present number of ranges and the rows of the finished table."""
        if self.share_of_table:
            return rows * self.share_of_table
        return next((size / row_bytes for most, size in self.sizes if ranges <= most), inf)
