"""What else than the key's index a trial's table has: a parent table, or the rows by date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keybench.databases.contract import Probe
from keybench.model.reading import Reading
from keybench.model.table import Table


def readings(table: Table, probes: Sequence[Probe]) -> list[Reading]:
    """Pages and size of each, under its own subject."""
    return [
        replace(reading, subject=of)
        for of, other in table.other_indexes.items()
        for probe in probes
        if any(metric.definition.of_index for metric in probe.supplies)
        for reading in probe.after(other)
        if reading.metric.definition.of_index
    ]
