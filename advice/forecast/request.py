"""What a forecast is asked for: its tables, its number of rows, and what stands behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.generators.core.layout import layout, layouts
from keybench.model.names import MOST_ROWS
from keybench.model.sizes import bytes_of
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Server
from keybench.runners.planning import chosen_settings
from keybench.runners.planning.columns import check_columns, columns_for
from keybench.runners.planning.trial_plan import resolve_layouts
from keybench.scenarios.files import load_scenario, with_payload
from keybench.scenarios.schema import Scenario

_LEAST_ROWS = 1000


@dataclass(frozen=True)
class Case:
    """One layout in one column of one engine."""

    on: Engine
    layout: str
    table: Table


@dataclass(frozen=True)
class Asked:
    """The options of `keybench forecast`, read."""

    databases: tuple[str, ...]
    layouts: tuple[str, ...]
    columns: tuple[str, ...]
    scenario: Scenario
    rows: int
    server: Server
    seed: int

    def cases(self) -> Iterator[Case]:
        """All tables, the control first on each engine."""
        payload = self.scenario.table.payloads[0]
        for name in self.databases:
            on = engine(name)
            settings = chosen_settings.of(self.scenario, on)
            for chosen in map(layout, self.layouts):
                for column in columns_for(on, chosen, self.columns or self.scenario.columns_on(name)):
                    sized = on.column(column).sized(chosen.key_bytes)
                    table = Table("t", sized, payload.most, self.scenario.table.key, settings=settings)
                    yield Case(on, chosen.name, table)


def asked(
    *, db: str, layout: str, column: str, scenario: str, rows: str, ram: str, checkpoint: str, payload: str, seed: int
) -> Asked:
    """Reads the options. UsageError for what they cannot mean, with the next step."""
    databases = tuple(engine(name).name for name in _names(db))
    if not databases:
        raise UsageError("--db names no database: name one, such as postgresql.")
    for name in databases:
        if not engine(name).has_page_model:
            raise engine(name).without_page_model()
    work = load_scenario(scenario)
    if work.generation:
        raise UsageError(f"scenario {work.name} only makes keys, without a table: choose another.")
    if payload:
        work = with_payload(work, payload)
    if work.table.payloads[0].varying:
        raise UsageError("a forecast knows rows of one length: give --payload as one number, such as 100.")
    work = chosen_settings.resolved(work, databases, {})
    columns = _names(column)
    check_columns(databases, columns)
    chosen = resolve_layouts(_names(layout), work)
    if made := [name for name in chosen if name not in layouts()]:
        raise UsageError(f"{made[0]} keys are made by a server, which a forecast does not have: leave it out.")
    between = bytes_of(checkpoint, "--checkpoint") if checkpoint else None
    server = Server(cache_bytes=bytes_of(ram, "--ram"), checkpoint_bytes=between)
    return Asked(databases, chosen, columns, work, _rows(rows), server, seed)


def _rows(text: str) -> int:
    try:
        rows = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        rows = 0.0
    if not (_LEAST_ROWS <= rows <= MOST_ROWS and rows.is_integer()):
        raise UsageError(f"--rows {text!r} is no number of rows from {_LEAST_ROWS:,}: write it as 1e9 or 50_000_000.")
    return int(rows)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (part.strip() for part in text.split(",")) if name))
