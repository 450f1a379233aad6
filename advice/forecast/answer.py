"""The figures of a forecast, as text for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.table import Table

from keybench.advice.forecast.load_cost import AT_THE_END, SECOND_HALF, Estimate, Forecast, RowCost, late
from keybench.advice.forecast.prices import Prices
from keybench.advice.forecast.request import Asked, Case
from keybench.generators.core.layout import layout
from keybench.model.sizes import spelled

KNEES = 0.05, 0.5
_UNKNOWN = "–"
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
        """The layout, with its column if that is not the engine's own choice."""
        column, chosen = self.case.table.column.name, layout(self.case.layout)
        native = self.case.on.default_column(chosen.kind, chosen.shared_bits()).name
        return chosen.name if column == native else f"{chosen.name} · {column}"


def forecast_of(asked: Asked, case: Case) -> Forecast:
    """Of one table. UsageError for a table whose cost no page model knows."""
    return Forecast(case.on, case.table, asked.scenario, case.layout, asked.rows, asked.seed)


def answer(asked: Asked, case: Case, made: Forecast, *, with_curve: bool) -> Answer:
    """Simulates one table. UsageError for a cache that is too small."""
    index_bytes = made.index_pages * made.page_bytes
    cost = made.cost(asked.server)
    curve = []
    share = min(one.share for one in made.samples)
    least = max(index_bytes * _SMALLEST, _FEWEST_PAGES * made.page_bytes / share)
    size = index_bytes
    while with_curve and size >= least:
        of_size = made.cost(replace(asked.server, cache_bytes=int(size)), look_ups=False)
        curve.append((int(size), *late(of_size.ends, of_size.read, AT_THE_END)))
        size /= 2
    return Answer(case, index_bytes, sum(one.share for one in made.samples), cost, tuple(curve))


def as_table(answers: Sequence[Answer], prices: Prices) -> Table:
    """One row a table: sizes in bytes, pages and bytes of log a row, and the rows from which on so much is read.

    What no model of them knows has no column.
    """
    table = Table(box=None, pad_edge=False)
    table.add_column("layout", min_width=15, overflow="fold")
    columns: dict[str, list[str]] = {"index": [spelled(one.index_bytes) for one in answers]}
    columns["read"] = [_late(one.cost, one.cost.read, AT_THE_END) for one in answers]
    for knee in KNEES:
        columns[f"≥ {knee:g} from"] = [_rows(one.cost.knee(knee)) for one in answers]
    columns["written"] = [_late(one.cost, one.cost.written, SECOND_HALF) for one in answers]
    columns["log"] = [_late(one.cost, one.cost.log_bytes, SECOND_HALF) for one in answers]
    columns["images"] = [_late(one.cost, one.cost.log_images, SECOND_HALF) for one in answers]
    if prices.given:
        columns[f"{prices.currency} a million".strip()] = [f"{prices.of_million_rows(one.cost):.3g}" for one in answers]
    if prices.gb_month:
        columns[f"{prices.currency} a month".strip()] = [f"{prices.of_month(one.index_bytes):.3g}" for one in answers]
    known = {head: cells for head, cells in columns.items() if set(cells) != {_UNKNOWN}}
    for head in known:
        table.add_column(head, justify="right", no_wrap=True)
    for i, one in enumerate(answers):
        table.add_row(one.label, *(cells[i] for cells in known.values()))
    return table


def largest_error(answers: Sequence[Answer]) -> float:
    """The largest error of the pages read a row at the end."""
    return max(late(one.cost.ends, one.cost.read, AT_THE_END)[1] for one in answers)


def look_ups_table(answers: Sequence[Answer]) -> Table | None:
    """Pages that look-ups read right after the load; None if no model knows them."""
    known = [(one.label, one.cost.look_ups) for one in answers if one.cost.look_ups]
    table = Table(box=None, pad_edge=False)
    table.add_column("layout", min_width=15, overflow="fold")
    for head in ("any row", "newest 1 %", "a row of a window of time"):
        table.add_column(head, justify="right")
    for label, found in known:
        table.add_row(label, f"{found.any_row:.3f}", f"{found.newest:.3f}", f"{found.window:.3f}")
    return table if known else None


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
        "pages_read": (cost.read, AT_THE_END),
        "pages_written": (cost.written, SECOND_HALF),
        "log_bytes": (cost.log_bytes, SECOND_HALF),
        "log_page_images": (cost.log_images, SECOND_HALF),
    }
    return {
        "database": one.case.on.name,
        "layout": one.case.layout,
        "column": one.case.table.column.name,
        "share_simulated": one.share,
        "index_bytes": round(one.index_bytes),
        "a_row_at_the_end": {
            name: None
            if of is None
            else dict(zip(("value", "error", "behind_share"), (*late(cost.ends, of, behind), behind), strict=True))
            for name, (of, behind) in known.items()
        },
        "look_ups": None if cost.look_ups is None else asdict(cost.look_ups),
        "reads_pass": {f"{knee:g}": cost.knee(knee) for knee in KNEES},
        "along": {
            "rows": cost.ends.tolist(),
            **{name: of.value.tolist() for name, (of, _) in known.items() if of is not None},
        },
        "by_cache": [{"cache_bytes": size, "pages_read": value, "error": error} for size, value, error in one.curve],
        "price": {"million_rows": prices.of_million_rows(cost), "month": prices.of_month(one.index_bytes)}
        if prices.given
        else None,
    }


def _late(cost: RowCost, of: Estimate | None, behind: float) -> str:
    if of is None:
        return _UNKNOWN
    value, _ = late(cost.ends, of, behind)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


def _rows(value: float | None) -> str:
    if value is None:
        return "never"
    return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value:,.0f}"
