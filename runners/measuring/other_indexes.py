"""What else than the key's index a trial's table has: a parent table, or the rows by date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keybench.databases.contract import Probe
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_OF_PAGES = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
    Metric.INDEX_BYTES,
)
"""What can be read afterwards. Counters are a difference over the trial, and were read of the key's index."""


def readings(table: Table, probes: Sequence[Probe]) -> list[Reading]:
    """Pages and size of each, under its own subject."""
    return [
        replace(reading, subject=of)
        for of, other in table.other_indexes.items()
        for probe in probes
        if set(probe.supplies) & set(_OF_PAGES)
        for reading in probe.after(other)
        if reading.metric in _OF_PAGES
    ]
