"""A request becomes trials in shuffled blocks.

The plan depends only on the request and its seed, so that an interrupted run can be planned again and resumed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.options import ContainerOptions, Profile
from keybench.databases.registry import engine
from keybench.errors import UsageError, unknown_name
from keybench.generators.core.layout import Layout, layout, layouts
from keybench.model.names import CONTROL, MODEL_SERVER, NATIVE, NO_DATABASE, RANDOM
from keybench.model.table import Table
from keybench.runners.planning import server_keys
from keybench.scenarios.schema import Scenario

TABLE = "keybench_rows"


@dataclass(frozen=True)
class Request:
    """What a run is to measure, with all names resolved."""

    databases: tuple[str, ...]
    servers: Mapping[str, str]
    """Server kind, or URL without a password, by database."""
    scenario: Scenario
    layouts: tuple[str, ...]
    columns: tuple[str, ...]
    """Columns that the user asked for; if empty, the default column of each layout."""
    rows: int | None
    blocks: int
    profile: Profile
    seed: int
    trial_timeout: float
    images: Mapping[str, str] = field(default_factory=dict)
    """Container images by database, if the user chose another image than the engine's default."""
    memory: int = ContainerOptions.memory_bytes
    """Bytes that each container may use."""
    cpus: float = ContainerOptions.cpus
    """Processors that each container may use."""
    keep_server: bool = False
    """Whether containers are kept when the run ends."""
    executor: str = ""
    """Address of the Dask scheduler on whose workers the writers run; if empty, they are processes of this machine."""

    def container(self, database: str) -> ContainerOptions:
        """The options of that database's container."""
        return ContainerOptions(self.images.get(database, ""), self.memory, self.cpus, self.keep_server)

    def is_modelled(self, database: str) -> bool:
        """Whether that database's trials use its page model instead of a server."""
        return self.servers.get(database) == MODEL_SERVER

    def on_server(self, database: str) -> bool:
        """Whether that database's trials need a server."""
        return database != NO_DATABASE and not self.is_modelled(database)

    def to_json(self) -> dict[str, Any]:
        """The request as plain JSON, with the databases' titles for reports. `from_json` reads it back."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **fields,
            "scenario": self.scenario.model_dump(mode="json"),
            "servers": dict(self.servers),
            "images": dict(self.images),
            "titles": {name: engine(name).title for name in self.databases if name != NO_DATABASE},
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Request:
        """The request that `to_json` wrote."""
        scenario = Scenario.model_validate(content["scenario"], strict=False)
        lists = {name: tuple(content[name]) for name in ("databases", "layouts", "columns")}
        fields = {name: value for name, value in content.items() if name != "titles"}
        return Request(**{**fields, **lists, "scenario": scenario})


@dataclass(frozen=True)
class TrialPlan:
    """One trial: what is inserted where, and its place in the run."""

    block: int
    position: int
    database: str
    layout: str
    column: str
    payload: int
    rows: int

    @property
    def drawn(self) -> bool:
        """Whether data for pictures is kept, which is done only in the first block."""
        return self.block == 1

    @property
    def label(self) -> str:
        """Its name in progress lines and errors."""
        if self.database == NO_DATABASE:
            return f"{self.layout} · {self.column}"
        width = f" · {self.payload} characters" if self.payload != 100 else ""
        return f"{self.database} · {self.layout} · {self.column}{width}"

    def table(self, scenario: Scenario) -> Table:
        """The table that its rows go into."""
        on = engine(self.database)
        if made := server_keys.made_by(on, self.layout):
            return Table(TABLE, on.column(self.column), self.payload, scenario.table.key, made)
        column = on.column(self.column).sized(layout(self.layout).key_bytes)
        return Table(TABLE, column, self.payload, scenario.table.key, children=scenario.table.children)


def plan(request: Request) -> tuple[TrialPlan, ...]:
    """All trials: the blocks one after the other, each in an order shuffled from the seed.

    Raises UsageError for fewer rows than writers.
    """
    cells = _cells(request)
    generation = request.scenario.generation
    count = max(generation.threads) if generation else len(request.scenario.writer)
    _check_before(request)
    _check_key_role(request)
    if too_small := [cell.rows for cell in cells if cell.rows < count]:
        raise UsageError(f"{too_small[0]} rows are too few for {count} writers: give each at least one row.")
    trials: list[TrialPlan] = []
    for block in range(1, request.blocks + 1):
        random.Random(f"{request.seed}/{block}").shuffle(cells)  # noqa: S311 (an order, not a secret)
        trials += [replace(cell, block=block, position=position) for position, cell in enumerate(cells)]
    return tuple(trials)


def _check_before(request: Request) -> None:
    """UsageError if a layout cannot share a column with the layout that fills the table first."""
    if not request.scenario.before:
        return
    before = layout(request.scenario.before.layout)
    for name in request.layouts:
        if name != CONTROL and layout(name).kind != before.kind:
            raise UsageError(
                f"{name} keys cannot follow {before.name} in one column, as scenario {request.scenario.name} wants: "
                f"leave the layout out."
            )


def _check_key_role(request: Request) -> None:
    """UsageError if a database cannot create the scenario's kind of table."""
    role = request.scenario.table.key
    for name in request.databases:
        if role not in engine(name).key_roles:
            raise UsageError(
                f'{engine(name).title} has no tables with key = "{role}", '
                f"which scenario {request.scenario.name} wants: leave {name} out of --db."
            )


def _cells(request: Request) -> list[TrialPlan]:
    scenario = request.scenario
    if scenario.generation:
        rows = request.rows or scenario.rows or 0
        titles = [way.title for way in scenario.generation.ways]
        return [TrialPlan(0, 0, NO_DATABASE, name, title, 0, rows) for name in request.layouts for title in titles]
    return [
        TrialPlan(0, 0, name, chosen, column, payload, rows_of(request, engine(name)))
        for name in request.databases
        for chosen in request.layouts
        for column in _columns_of(engine(name), chosen, request.columns or scenario.columns)
        for payload in scenario.table.payload
    ]


def _columns_of(on: Engine, chosen: str, asked: Sequence[str]) -> list[str]:
    """As `columns_for`. A server-generated layout has one column, and none on engines that do not make it."""
    if chosen in server_keys.known():
        return [made.column for made in (server_keys.made_by(on, chosen),) if made]
    return columns_for(on, layout(chosen), asked)


def rows_of(request: Request, on: Engine) -> int:
    """Rows of one trial on that engine."""
    if request.rows is not None:
        return request.rows
    scenario = request.scenario
    if scenario.rows is not None:
        return scenario.rows
    native = on.default_column("uuid", "none")
    index_bytes, _ = on.bytes_per_row(native, scenario.table.payload[0], scenario.table.key)
    cache = on.settings(request.profile, scenario.server.cache).cache_bytes
    return ceil(float(scenario.index_over_cache or 0) * cache / index_bytes / 100_000) * 100_000


def columns_for(on: Engine, chosen: Layout, asked: Sequence[str]) -> list[str]:
    """The engine's columns in which the layout is measured: the requested ones that can hold its kind of key.

    If none of them can (for example, the integer control among GUID columns), the layout keeps its default column.
    """
    wanted = [column for column in on.columns if column.name in asked or (column.native and NATIVE in asked)]
    fitting = [column.name for column in wanted if chosen.kind in column.kinds]
    bits = chosen.description.fixed() if chosen.kind == "uuid" else None
    return fitting or [on.default_column(chosen.kind, chosen.order, bits).name]


def check_columns(databases: Sequence[str], asked: Sequence[str]) -> None:
    """UsageError if a requested column exists in none of the databases."""
    known = {NATIVE, *(column.name for name in databases for column in engine(name).columns)}
    for name in asked:
        if name not in known:
            raise unknown_name("column", name, known)


def resolve_layouts(asked: Sequence[str], scenario: Scenario) -> tuple[str, ...]:
    """The names of the layouts that were requested by name or alias, or of `all` layouts that clients make. The control
    always comes first.

    If only keys are made, random GUIDs are always measured too, because other layouts' times are compared with theirs.
    """
    names = list(asked) or list(scenario.layouts) or ["all"]
    if "all" in names:
        names = [known.name for known in layouts().values()]
    always = [CONTROL, RANDOM] if scenario.generation else [CONTROL]
    made = server_keys.known()
    for name in names:
        if name not in made and name not in layouts():
            raise unknown_name("layout", name, {*layouts(), *made})
    return tuple(dict.fromkeys([*always, *(name if name in made else layout(name).name for name in names)]))
