"""The axis of keys per clock tick and processes: the same work at other numbers of both, by the page model alone."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from keybench.scenarios.part import Part


class GridPart(Part):
    """Cells beside the trial itself: every number of processes with every number of rows in a tick of their clocks."""

    processes: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)]
    rows_per_tick: Annotated[tuple[Annotated[int, Field(ge=1, le=100_000)], ...], Field(min_length=1)]
    """Rows of all processes together while their clocks stand still."""
    rows: Annotated[int, Field(gt=0)] = 50_000
    """Of each cell; fewer where the trial has fewer."""
