"""What a trial, or a part of it, has measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keybench.model.reading import Reading, Series
from keybench.results.store.blobs import Blob


@dataclass(frozen=True)
class Measurements:
    """Readings, series along the load, and blobs for pictures."""

    readings: Sequence[Reading]
    series: Sequence[Series] = ()
    blobs: Sequence[Blob] = ()
    traceback: str = ""
    """The traceback of an unexpected exception that did not end the trial."""
