"""The indexes of a trial's table other than the key's: a parent table's, or that of the rows by date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keybench.databases.contract.roles import Probe
from keybench.model.reading import Reading
from keybench.model.table import Table


def readings(table: Table, probes: Sequence[Probe]) -> list[Reading]:
    """Pages and size of each of these indexes, under its own subject."""
    return [
        replace(reading, subject=of)
        for of, other in table.other_indexes.items()
        for probe in probes
        if any(metric.definition.of_index for metric in probe.supplies)
        for reading in probe.after(other)
        if reading.metric.definition.of_index
    ]
