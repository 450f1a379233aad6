"""What a trial has measured of its table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from keybench.databases.contract.roles import Admin, Probe
from keybench.model.reading import Reading, Series
from keybench.model.table import Table
from keybench.results.store.blobs import Blob


@dataclass(frozen=True)
class Measurements:
    """Readings, series along the load, and blobs for pictures."""

    readings: Sequence[Reading]
    series: Sequence[Series] = ()
    blobs: Sequence[Blob] = ()
    traceback: str = ""
    """The traceback of an unexpected exception that did not end the trial."""


class Probes:
    """The probes of a trial's table."""

    def __init__(self, admin: Admin, table: Table) -> None:
        self._table, self._probes = table, list(admin.probes())

    def before(self) -> None:
        """Reads all counters before the load."""
        for probe in self._probes:
            probe.before(self._table)

    def after(self) -> list[Reading]:
        """The readings of the table's key, then of its other indexes."""
        of_key = [reading for probe in self._probes for reading in probe.after(self._table)]
        return of_key + of_other_indexes(self._table, self._probes)


def of_other_indexes(table: Table, probes: Sequence[Probe]) -> list[Reading]:
    """Pages and size of each index of the table other than the key's, under its own subject."""
    return [
        replace(reading, subject=subject)
        for subject, other in table.other_indexes.items()
        for probe in probes
        if any(metric.definition.of_index for metric in probe.supplies)
        for reading in probe.after(other)
        if reading.metric.definition.of_index
    ]
