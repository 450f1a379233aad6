"""A request becomes trials in shuffled blocks.

The plan depends only on the request and its seed, so that an interrupted run can be planned again and resumed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Any

from pydantic import TypeAdapter

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.settings import ContainerOptions, Profile
from keybench.databases.registry import engine
from keybench.errors import UsageError, unknown_name
from keybench.generators.core.layout import FILE, KeysOfFile, layout, layouts
from keybench.model.names import COMPUTED, CONTROL, MOST_BLOCKS, NO_DATABASE, RANDOM
from keybench.model.payload import PayloadLengths
from keybench.model.table import Table
from keybench.pagemodels.contract import KeepsState, KnowsUpdates
from keybench.runners.planning.columns import columns_of, layouts_of_servers, pairing_of, server_keys_of
from keybench.runners.planning.server_choice import settings_of
from keybench.scenarios.index_phases import PhasePart, fills_as_text, rows_problem
from keybench.scenarios.schema import Scenario, scenario_of
from keybench.scenarios.writers import duration_problem

TABLE = "keybench_rows"
"""The name of the table that rows go into."""
MOST_TRIALS = 100_000
"""A plan is held in memory and printed."""
_WHOLE_ROWS = 100_000
"""Rows that follow from the size of a cache are rounded up to a multiple of this."""
ALL = "all"
"""In place of layouts: every one that clients make."""


@dataclass(frozen=True)
class Request:
    """What a run is to measure, with all names resolved."""

    databases: tuple[str, ...]
    servers: Mapping[str, str]
    """Server kind, or URL without a password, by database."""
    scenario: Scenario
    layouts: tuple[str, ...]
    columns: tuple[str, ...]
    """Columns that the user asked for (`native`, `suited` or names); if empty, the scenario's."""
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
    executor: str = ""
    """Address of the Dask scheduler on whose workers the writers run; if empty, they are processes of this machine."""
    ram: int = 0
    """Bytes of the server's cache that page models have; 0: as on servers that keybench starts."""
    checkpoint: int = 0
    """Bytes of log between two checkpoints that page models have; 0: likewise."""

    def container(self, database: str) -> ContainerOptions:
        """The options of that database's container."""
        return ContainerOptions(self.images.get(database, ""), self.memory, self.cpus)

    def is_modelled(self, database: str) -> bool:
        """Whether that database's trials are computed, without a server."""
        return self.servers.get(database) in COMPUTED

    def on_server(self, database: str) -> bool:
        """Whether that database's trials need a server."""
        return database != NO_DATABASE and not self.is_modelled(database)

    def to_json(self) -> dict[str, Any]:
        """The request as plain JSON, with what reports need to know of databases. `from_json` reads it back."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **fields,
            "scenario": self.scenario.model_dump(mode="json"),
            "servers": dict(self.servers),
            "images": dict(self.images),
            "titles": {name: engine(name).title for name in self.databases if name != NO_DATABASE},
            "pairings": {  # the columns of each layout on each engine
                name: {chosen: asdict(pair) for chosen in self.layouts if (pair := pairing_of(engine(name), chosen))}
                for name in self.databases
            },
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Request:
        """The request that `to_json` wrote. Raises UsageError if it is damaged."""
        fields = {name: value for name, value in content.items() if name not in ("titles", "pairings")}
        try:
            scenario = scenario_of(content["scenario"], strict=False)
            request = TypeAdapter(Request).validate_python({**fields, "scenario": scenario})
            if not set(request.databases) <= {*request.servers, NO_DATABASE} or not 1 <= request.blocks <= MOST_BLOCKS:
                raise ValueError("its servers or blocks are not those of a run")
        except (ValueError, TypeError, LookupError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(
                f"what the run was to measure is damaged in the results ({reason}): measure again, with a new run."
            ) from None
        return request


@dataclass(frozen=True)
class TrialPlan:
    """One trial: what is inserted where, and its place in the run."""

    block: int
    position: int
    database: str
    layout: str
    column: str
    payload: int
    """Characters beside the key, of the longest row if they vary."""
    rows: int
    lengths: PayloadLengths | None = None
    """How long the payloads are, if they vary."""
    writers: int = 0
    """The number of equal writers; 0: the scenario's own."""

    @property
    def drawn(self) -> bool:
        """Whether data for pictures is kept, which is done only in the first block."""
        return self.block == 1

    @property
    def label(self) -> str:
        """Its name in progress lines and errors."""
        if self.database == NO_DATABASE:
            return f"{self.layout} · {self.column}"
        size = self.lengths or f"{self.payload} characters"
        width = f" · {size}" if self.lengths or self.payload != 100 else ""  # 100, the usual number, is not shown
        writers = f" · {self.writers} writer{'s' if self.writers > 1 else ''}" if self.writers else ""
        return f"{self.database} · {self.layout} · {self.column}{width}{writers}"

    def table(self, scenario: Scenario) -> Table:
        """The table that its rows go into."""
        on = engine(self.database)
        settings = settings_of(scenario, on)
        if server_keys := server_keys_of(on, self.layout):
            table = Table(TABLE, on.column(self.column), self.payload, scenario.table.key, server_keys)
            return replace(table, lengths=self.lengths, settings=settings)
        column = on.column(self.column).sized(layout(self.layout).key_bytes)
        role, children = scenario.table.key, scenario.table.children
        table = Table(TABLE, column, self.payload, role, children=children, status=scenario.table.status)
        after_updates = [phase.update.characters(self.payload) for phase in scenario.phase if phase.update]
        return replace(table, lengths=self.lengths, settings=settings, longest=max(after_updates, default=0))


def plan(request: Request) -> tuple[TrialPlan, ...]:
    """All trials: the blocks one after the other, each in an order shuffled from the seed. Raises UsageError for what
    cannot be measured, such as fewer rows than writers."""
    cells = _cells(request)
    _check_other_layouts(request)
    _check_key_role(request)
    _check_phases(request)
    _check_files(request, cells)
    _check_sizes(request, cells)
    trials: list[TrialPlan] = []
    for block in range(1, request.blocks + 1):
        # shuffles the order that `cells` still has from the block before
        random.Random(f"{request.seed}/{block}").shuffle(cells)  # noqa: S311 (an order, not a secret)
        trials += [replace(cell, block=block, position=position) for position, cell in enumerate(cells)]
    return tuple(trials)


def _check_sizes(request: Request, cells: Sequence[TrialPlan]) -> None:
    """UsageError if a trial has too few rows for its writers or phases, or too many for its phases. Also if the run has
    too many trials."""
    generation = request.scenario.generation
    writers = max(generation.threads) if generation else request.scenario.most_writers
    if too_small := [cell.rows for cell in cells if cell.rows < writers]:
        raise UsageError(f"{too_small[0]} rows are too few for {writers} writers: give each at least one row.")
    if len(cells) * request.blocks > MOST_TRIALS:
        raise UsageError(
            f"{len(cells)} trials in each of {request.blocks:,} blocks are more than {MOST_TRIALS:,}: give fewer "
            "--blocks, layouts or databases."
        )
    fewest = max((ceil(1 / phase.share) for phase in request.scenario.phase if phase.share), default=1)
    for rows in {cell.rows for cell in cells}:
        if rows < fewest:  # each phase that inserts has at least one
            raise UsageError(
                f"{rows} rows are too few for the phases of scenario {request.scenario.name}: give {fewest}."
            )
        problem = rows_problem(request.scenario.phase, rows) if request.scenario.phase else ""
        if problem := problem or duration_problem(request.scenario.phases(rows)):
            raise UsageError(f"scenario {request.scenario.name}: {problem}.")


def _check_other_layouts(request: Request) -> None:
    """UsageError if a layout's kind of key is not that of the scenario's other layouts, whose keys share its column."""
    for other in map(layout, request.scenario.other_layouts):
        for name in request.layouts:
            if name != CONTROL and layout(name).kind != other.kind:
                raise UsageError(
                    f"{name} keys cannot share a column with {other.name} keys, as scenario {request.scenario.name} "
                    "wants: leave the layout out."
                )


def _check_files(request: Request, cells: Sequence[TrialPlan]) -> None:
    """UsageError if the file of --keys has fewer keys than a trial has rows, or a key that a column cannot hold."""
    for cell in cells if request.databases else ():
        if not cell.layout.startswith(FILE):
            continue
        chosen, path = layout(cell.layout), cell.layout.removeprefix(FILE)
        assert isinstance(chosen, KeysOfFile)
        if cell.rows > len(chosen.keys):
            raise UsageError(
                f"--keys {path} has {len(chosen.keys):,} keys, too few for {cell.rows:,} rows: give fewer."
            )
        column = cell.table(request.scenario).column
        if not (accepted := column.accepts(chosen.keys)).all():
            line, title = int(accepted.argmin()) + 1, engine(cell.database).title  # the first False
            why = f" ({column.refusal})" if column.refusal else ""
            raise UsageError(
                f"--keys {path}, line {line}: the column {column.name} of {title} cannot hold this key{why}: choose "
                "another --column."
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


def _check_phases(request: Request) -> None:
    """UsageError if updates of payloads meet rows without a payload, or if a database, or its page model where that
    takes its place, cannot do one of the scenario's phases."""
    phases = request.scenario.phase
    updates_payload = any(phase.update and phase.update.column == "payload" for phase in phases)
    if updates_payload and not all(payload.least for payload in request.scenario.table.payloads):
        raise UsageError(
            f"scenario {request.scenario.name} updates the column payload, which rows of 0 characters lack: give them "
            "some with --payload."
        )
    for name in request.databases if phases else ():
        on = engine(name)
        modelled = request.is_modelled(name)
        if modelled and (unknown := _unknown_to_model(on, phases)):
            raise UsageError(
                f"the page model of {on.title} knows no {unknown} yet, which scenario {request.scenario.name} has: "
                f"measure it on a server, or leave {name} out of --db."
            )
        if not (on.rebuilds or modelled) and any(phase.rebuild or phase.build for phase in phases):
            raise UsageError(
                f"keybench cannot rebuild an index of {on.title} yet, as scenario {request.scenario.name} wants: "
                f"leave {name} out of --db."
            )
        if not (on.updates or modelled) and any(phase.update or phase.read for phase in phases):
            raise UsageError(
                f"keybench cannot update or read rows of {on.title} in phases yet, as scenario {request.scenario.name} "
                f"wants: leave {name} out of --db."
            )
        fills = [built.fill for phase in phases if (built := phase.build or phase.rebuild) and built.fill]
        if impossible := [fill for fill in fills if fill not in on.fills]:
            raise UsageError(
                f"{on.title} builds an index only at {fills_as_text(on.fills)} %, and scenario {request.scenario.name} "
                f"wants {impossible[0]} %: leave {name} out of --db, or fill out of the scenario."
            )


def _unknown_to_model(on: Engine, phases: Sequence[PhasePart]) -> str:
    """What the engine's page model does not know of these phases, as a noun; empty if it knows all."""
    model = on.page_model(Table(TABLE, on.default_column("uuid"), 0))  # any table will do
    if not isinstance(model, KeepsState):
        return "index with a past"
    updates = any(phase.update for phase in phases)
    return "updates" if updates and not isinstance(model.state(1), KnowsUpdates) else ""


def _cells(request: Request) -> list[TrialPlan]:
    """The trials of one block. Their block and their position in it, here 0, are still to be filled in."""
    scenario = request.scenario
    if scenario.generation:
        rows = request.rows or scenario.rows or 0
        return [
            TrialPlan(0, 0, NO_DATABASE, layout=name, column=way.title, payload=0, rows=rows)
            for name in request.layouts
            for way in scenario.generation.ways
        ]
    return [
        TrialPlan(0, 0, name, chosen, column, payload.most, rows_of(request, engine(name)), payload.varying, writers)
        for name in request.databases
        for chosen in request.layouts
        if not (chosen in layouts_of_servers() and request.is_modelled(name))  # a page model cannot make these keys
        for column in columns_of(engine(name), chosen, request.columns or scenario.columns_on(name))
        for payload in scenario.table.payloads
        for writers in scenario.load.writers or (0,)
    ]


def rows_of(request: Request, on: Engine) -> int:
    """Rows of one trial on that engine: those that the user or the scenario asks for. If the scenario says how much
    larger than the server's cache the index is to be, they follow from the cache."""
    if request.rows is not None:
        return request.rows
    scenario = request.scenario
    if scenario.rows is not None:
        return scenario.rows
    native = on.default_column("uuid")
    index_bytes, _ = on.bytes_per_row(native, scenario.table.payloads[0].mean, scenario.table.key)
    cache = request.ram or on.settings(request.profile, scenario.server.cache).cache_bytes
    return ceil(float(scenario.index_over_cache or 0) * cache / index_bytes / _WHOLE_ROWS) * _WHOLE_ROWS


def resolve_layouts(asked: Sequence[str], scenario: Scenario) -> tuple[str, ...]:
    """The names of the layouts that were requested by name or alias, or of `all` layouts that clients make. The control
    always comes first.

    If only keys are made, random GUIDs are always measured too, because other layouts' times are compared with theirs.
    """
    all_names = [known.name for known in layouts().values()]
    requested = list(asked) or list(scenario.layouts) or [ALL]  # the user's layouts, else the scenario's, else all
    names = [name for text in requested for name in (all_names if text == ALL else [text])]
    always = [CONTROL, RANDOM] if scenario.kind == "keys" else [CONTROL]
    of_servers = layouts_of_servers()
    for name in names:
        if name not in of_servers and name not in layouts() and not name.startswith(FILE):
            raise unknown_name("layout", name, {*layouts(), *of_servers})
    return tuple(dict.fromkeys([*always, *(name if name in of_servers else layout(name).name for name in names)]))
