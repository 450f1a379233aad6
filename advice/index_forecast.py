"""What is asked about one layout, and what is forecast of it."""

from __future__ import annotations

from dataclasses import dataclass

from keybench.advice.figure import Figure
from keybench.databases.contract.engine import Engine
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Server


@dataclass(frozen=True)
class Growth:
    """How a table comes to its rows."""

    rows: int
    rows_per_second: float
    writers: int = 1
    behind_seconds: float = 0.0
    """How far the slowest writer's clock or queue is behind the fastest one's."""
    restarts_per_day: float = 0.0
    """How often a writer ends and another one begins (layouts that draw a number at each start notice it)."""
    rows_per_tx: int = 1


@dataclass(frozen=True)
class Question:
    """One layout in one column of one engine."""

    on: Engine
    table: Table
    layout: str
    growth: Growth
    server: Server
    seed: int = 1


@dataclass(frozen=True)
class IndexForecast:
    """The key's index after the last row. Figures that no model knows are None."""

    leaf_pages: Figure
    index_bytes: Figure
    density: Figure
    """Used share of the leaf pages in %, by the engine's own definition."""
    splits: Figure
    """Edge and interior splits per 1,000 rows."""
    reads: Figure | None
    """Pages read a row at the end."""
    knee: Figure | None
    """The number of rows from which on a row costs 0.05 page reads; None if it never does, or if it is not known."""
    log_bytes: Figure | None
    """Bytes of log a row."""
    lag: Figure | None
    """Rows between a new row's place and the right edge, 95th percentile."""
