"""The figures of a forecast, as text for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table

from keybench.forecast.load_cost import Estimate, Forecast, RowCost, last
from keybench.forecast.prices import Prices
from keybench.forecast.request import Asked, Case
from keybench.model.sizes import spelled

KNEES = 0.05, 0.5
_SMALLEST, _FEWEST_PAGES = 1 / 64, 200
"""The smallest memory of a curve, as a share of the index, and its pages at least in a sample."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The forecast of one table."""

    case: Case
    index_bytes: float
    share: float
    """Of the rows, in all samples together."""
    cost: RowCost
    curve: tuple[tuple[int, float, float], ...]
    """(bytes of cache, pages read a row at the end, its error), if asked for."""

    @property
    def label(self) -> str:
        """The layout with its column."""
        return f"{self.case.layout} · {self.case.table.column.name}"


def answer(asked: Asked, case: Case, *, with_curve: bool) -> Answer:
    """Simulates one table. UsageError for a table that the engine's page model does not know."""
    made = Forecast(case.on, case.table, asked.scenario, case.layout, asked.rows, asked.seed)
    index_bytes = made.index_pages * made.page_bytes
    cost = made.cost(asked.server)
    curve = []
    share = min(one.share for one in made.samples)
    least = max(index_bytes * _SMALLEST, _FEWEST_PAGES * made.page_bytes / share)
    size = index_bytes
    while with_curve and size >= least:
        of_size = made.cost(replace(asked.server, cache_bytes=int(size)))
        curve.append((int(size), *last(of_size.ends, of_size.read)))
        size /= 2
    return Answer(case, index_bytes, sum(one.share for one in made.samples), cost, tuple(curve))


def as_table(answers: Sequence[Answer], prices: Prices) -> Table:
    """One row a table: sizes in bytes, pages and bytes of log a row, and the rows from which on so much is read."""
    table = Table(box=None, pad_edge=False)
    table.add_column("layout · column", overflow="fold")
    heads = ["index", "read", *(f"≥ {knee:g} from" for knee in KNEES), "written", "log", "images"]
    if prices.given:
        heads.append(f"{prices.currency} a million".strip())
    if prices.gb_month:
        heads.append(f"{prices.currency} a month".strip())
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for one in answers:
        cost = one.cost
        cells = [spelled(one.index_bytes), _with_error(cost, cost.read)]
        cells += ["never" if (at := cost.knee(knee)) is None else _rows(at) for knee in KNEES]
        cells += [_with_error(cost, of) for of in (cost.written, cost.log_bytes, cost.log_images)]
        if prices.given:
            cells.append(f"{prices.of_million_rows(cost):.3g}")
        if prices.gb_month:
            cells.append(f"{prices.of_month(one.index_bytes):.3g}")
        table.add_row(one.label, *cells)
    return table


def curve_table(answers: Sequence[Answer]) -> Table:
    """Pages read a row at the end, by the share of the index that the cache holds."""
    table = Table(box=None, pad_edge=False)
    table.add_column("cache ÷ index", justify="right")
    for one in answers:
        table.add_column(one.label, justify="right")
    for step in range(max(len(one.curve) for one in answers)):
        cells = [
            f"{one.curve[step][1]:.3f} ({spelled(one.curve[step][0])})" if step < len(one.curve) else "–"
            for one in answers
        ]
        table.add_row("1" if step == 0 else f"1/{2**step}", *cells)
    return table


def as_json(asked: Asked, answers: Sequence[Answer], prices: Prices) -> dict[str, Any]:
    """All figures, also along the load."""
    return {
        "origin": "modelled",
        "scenario": asked.scenario.name,
        "rows": asked.rows,
        "cache_bytes": asked.server.cache_bytes,
        "checkpoint_bytes": asked.server.checkpoint_bytes,
        "tables": [_content(one, prices) for one in answers],
    }


def _content(one: Answer, prices: Prices) -> dict[str, Any]:
    cost = one.cost
    known = {
        "pages_read": cost.read,
        "pages_written": cost.written,
        "log_bytes": cost.log_bytes,
        "log_page_images": cost.log_images,
    }
    return {
        "database": one.case.on.name,
        "layout": one.case.layout,
        "column": one.case.table.column.name,
        "share_simulated": one.share,
        "index_bytes": round(one.index_bytes),
        "a_row_at_the_end": {
            name: None if of is None else dict(zip(("value", "error"), last(cost.ends, of), strict=True))
            for name, of in known.items()
        },
        "reads_pass": {f"{knee:g}": cost.knee(knee) for knee in KNEES},
        "along": {
            "rows": cost.ends.tolist(),
            **{name: of.value.tolist() for name, of in known.items() if of is not None},
        },
        "by_cache": [{"cache_bytes": size, "pages_read": value, "error": error} for size, value, error in one.curve],
        "price": {"million_rows": prices.of_million_rows(cost), "month": prices.of_month(one.index_bytes)}
        if prices.given
        else None,
    }


def _with_error(cost: RowCost, of: Estimate | None) -> str:
    if of is None:
        return "–"
    value, error = last(cost.ends, of)
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3f}"
    return f"{text} ± {error:.2g}" if error >= 0.0005 else text


def _rows(value: float) -> str:
    return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value:,.0f}"
