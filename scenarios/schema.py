"""The schema of scenario files. A field that is not declared here is an error."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, Field, field_validator, model_validator

from keybench.errors import UsageError
from keybench.model.load_path import LoadPath, load_path
from keybench.model.names import MOST_BLOCKS, MOST_ROWS
from keybench.model.table import is_key_and_payload
from keybench.scenarios import index_phases, parts
from keybench.scenarios.writers import DealPart, Phase, WriterPart, load_phases, rows_sent, timeline_problem


class Scenario(parts.FilePart):
    """The work of a trial. Either `rows` or `index_over_cache` determines the number of rows.

    Its kind (`scenario_of`) decides which of the tables below it may have.
    """

    name: str
    title: Annotated[str, Field(min_length=1)]
    source: str = ""
    rows: Annotated[int, Field(gt=0, le=MOST_ROWS)] | None = None
    index_over_cache: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """The number of rows is chosen so that the index of a native 16-byte key is this many times the cache."""
    start: AwareDatetime
    blocks: Annotated[int, Field(gt=0, le=MOST_BLOCKS)] = 1
    """Default number of repetitions."""
    layouts: tuple[str, ...] = ()
    """Layouts that are measured if the user names none; if empty, all layouts."""
    columns: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    """Columns in which they are measured if the user names none (`native`: the engine's own type), for all databases or
    by database; if there are none for a database, the default column of each layout."""
    table: parts.TablePart = parts.TablePart()
    load: parts.LoadPart = parts.LoadPart()
    server: parts.ServerPart = parts.ServerPart()
    writer: tuple[WriterPart, ...] = (WriterPart(id="writer"),)
    deal: DealPart = DealPart()
    before: parts.BeforePart | None = None
    after: parts.AfterPart = parts.AfterPart()
    phase: tuple[index_phases.PhasePart, ...] = ()
    """The phases of the index's life, if it has a past; if empty, all rows are inserted into an empty table."""
    generation: parts.GenerationPart | None = None

    @field_validator("columns", mode="before")
    @classmethod
    def _tuples_of_names(cls, value: Any) -> Any:
        """The names of columns as a tuple for all databases, or as tuples by database; ValueError for other values."""
        by_database = value if isinstance(value, dict) else {"": value}  # "": for all databases
        columns = {  # the only column of a database may be a text alone; that of all databases may not
            database: (names,) if database and isinstance(names, str) else parts.lists_to_tuples(names)
            for database, names in by_database.items()
        }
        for database, names in columns.items():
            if not (isinstance(names, tuple) and all(isinstance(one, str) for one in names)):
                where = f" of {database}" if database else ""
                raise ValueError(f"the columns{where} have to be a list of names: write them so")
        return columns.get("", columns)  # the tuple for all databases, or the tuples by database

    kind: ClassVar[Literal["load", "phases", "contention", "keys"]]
    called: ClassVar[str]
    """What messages call a scenario of this kind."""
    lacks: ClassVar[tuple[str, ...]]
    """Tables of the file that it does not have."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.lacks:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{self.called} has no {name}: leave it out")
        for check in (self._work_problem, self._kind_problem, self._timeline_problem):  # each relies on those before it
            if problem := check():
                raise ValueError(problem)
        return self

    def _work_problem(self) -> str:
        """What is wrong with the load path, the rows or the writers, as a message; empty if nothing is."""
        if problem := self.load_path.refuses_table(self.table.key):
            return problem
        if self.table.status and self.kind != "phases":
            return "a table has a status for phases that update it: leave it out"
        if not self.writer:
            return "the list of writers is empty: name one, or leave it out for one of 1,000 rows a second"
        if (self.rows is None) == (self.index_over_cache is None):
            return "give either rows or index_over_cache"
        if len(set(self.load.writers)) < len(self.load.writers):
            return "a number of writers is there twice: leave one out"
        if self.load.writers and (len(self.writer) > 1 or self.timed):
            return "numbers of writers are for the work of one writer that is always busy"
        return ""

    def _kind_problem(self) -> str:
        """What a scenario of this kind cannot have and this one has, as a message; empty if there is nothing."""
        raise NotImplementedError

    def _timeline_problem(self) -> str:
        """Why the writers cannot send the rows in their times, as a message; empty if they can."""
        names = [writer.id for writer in self.writer]
        if len(set(names)) < len(names):
            return f"two writers have the same id: {', '.join(names)}"
        if self.rows is None:  # the cache's size will decide
            if rows_sent(self.writer) == inf:
                return ""
            return "a scenario with index_over_cache needs a writer that never stops: leave out its stop"
        if problem := timeline_problem(self.writer, self.rows):
            return problem
        end = self.phases(self.rows)[-1].end
        if late := [moment for moment in self.server.restarts if moment >= end]:
            return (
                f"the server restarts at {late[0]:g} s, but the last of {self.rows:,} rows is sent at {end:g} s: "
                "give more rows, or leave the restart out"
            )
        return ""

    def columns_on(self, database: str) -> tuple[str, ...]:
        """The columns for that database; empty for the default column of each layout."""
        return self.columns.get(database, ()) if isinstance(self.columns, Mapping) else self.columns

    @property
    def load_path(self) -> LoadPath:
        """How rows reach the server."""
        return load_path(self.load.path)

    @property
    def timed(self) -> bool:
        """Whether keys must carry the scenario's own time: because writers come and go, differ in rate, have their own
        clocks, divide work among them, or change the layout, or because servers restart."""
        writers_differ = len({one.rate for one in self.writer}) > 1 or not all(one.plain for one in self.writer)
        layout_changes = self.before is not None or any(phase.own_keys for phase in self.phase)
        return writers_differ or self.deal.mode != "own-rates" or layout_changes or bool(self.server.restarts)

    @property
    def rate(self) -> float:
        """Rows a second of virtual time, all writers together."""
        return sum(writer.rate for writer in self.writer)

    @property
    def most_writers(self) -> int:
        """The number of writers of the trial that has most."""
        return max(self.load.writers, default=len(self.writer))

    @property
    def other_layouts(self) -> tuple[str, ...]:
        """Layouts of keys that share the table with those of the measured layout."""
        named = [self.before.layout if self.before else "", *(phase.layout for phase in self.phase)]
        return tuple(dict.fromkeys(name for name in named if name))

    def with_equal_writers(self, n: int) -> Scenario:
        """The same work divided among n equal writers; UsageError if the scenario defines its own."""
        if len(self.writer) > 1:
            raise UsageError(f"scenario {self.name} names its own {len(self.writer)} writers: leave out --writers.")
        (only,) = self.writer
        rate = self.rate / n
        writers = tuple(only.model_copy(update={"rate": rate, "id": f"writer-{i + 1}"}) for i in range(n))
        return self.model_copy(update={"writer": writers, "load": self.load.model_copy(update={"writers": ()})})

    def with_settings(self, more: Mapping[str, str]) -> Scenario:
        """The same work with more settings of its servers and tables, which replace others of the same name."""
        server = self.server.model_copy(update={"settings": {**self.server.settings, **more}})
        return self.model_copy(update={"server": server})

    def phases(self, rows: int) -> tuple[Phase, ...]:
        """The phases in time of a load of `rows` rows. They take as long as the scenario's own number of rows would, if
        it has one: then other rows come at another rate."""
        return load_phases(self.writer, self.rows or rows)


class LoadScenario(Scenario):
    """Rows come into an empty table; their writers may come and go. Reads may follow."""

    kind, called = "load", "a scenario of a load"
    lacks = ("phase", "generation")

    def _kind_problem(self) -> str:
        if self.table.key == "fk" and self.after.reads:
            return "what follows the load is done by keys that have one row each: leave out after"
        return ""


class PhasesScenario(Scenario):
    """One writer's index has a past: insertions, deletions, cleaning, rebuilds and restarts, one after another."""

    kind, called = "phases", "a scenario with phases"
    lacks = ("generation", "after", "deal")

    def _kind_problem(self) -> str:
        if len(self.writer) > 1 or not is_key_and_payload(self.table.key):
            return "a scenario with phases has one writer, and one table with one row for each key"
        if self.load.writers or self.load.contended or not self.load_path.in_order:
            return "a scenario with phases sends rows in order: leave out all of load but rows_per_tx and skew_rows"
        if any(phase.update and phase.update.column == "status" for phase in self.phase) and not self.table.status:
            return "a phase updates the column status, which the table lacks: add status = true to the table"
        if any(phase.own_keys for phase in self.phase) and (self.before or self.writer[0].restarts):
            return "phases with a layout or days_ahead say whose keys come when: leave out before and restarts"
        return index_phases.phases_problem(self.phase)


class ContentionScenario(Scenario):
    """Equal writers that are always busy are watched: what they do to one another."""

    kind, called = "contention", "a scenario with isolation, look_up, filled or watched"
    lacks = ("generation", "after", "before", "deal", "phase")

    def _kind_problem(self) -> str:
        if self.table.key == "fk":
            return "isolation, look_up, filled and watched are for a table with a row a key"
        if not self.load_path.in_order:
            return "isolation, look_up, filled and watched are for rows in order: leave out the path"
        if self.timed:
            return "isolation, look_up, filled and watched are for equal writers that are always busy"
        return ""


class KeysScenario(Scenario):
    """Threads only make keys, without a database."""

    kind, called = "keys", "a scenario with generation"
    lacks = ("after", "before", "deal", "phase", "load", "table", "server")

    def _kind_problem(self) -> str:
        if self.rows is None or len(self.writer) > 1 or self.timed:
            return "a scenario with generation has rows, and one writer, whose rate is each thread's"
        return ""


def scenario_of(content: Mapping[str, Any], *, strict: bool = True) -> Scenario:
    """The scenario in the tables of a file; which of them are there decides its kind. Raises pydantic.ValidationError.

    Not `strict`: for a scenario that was stored as JSON. Its moments are text. Tables that its kind does not have are
    left out, because JSON holds their defaults, and those that only older versions knew.
    """
    load = content.get("load")
    kind: type[Scenario] = LoadScenario
    if content.get("generation") is not None:
        kind = KeysScenario
    elif content.get("phase"):
        kind = PhasesScenario
    elif isinstance(load, Mapping) and any(load.get(name) for name in parts.CONTENDED):
        kind = ContentionScenario
    if not strict:
        content = {name: content[name] for name in kind.model_fields if name in content and name not in kind.lacks}
    return kind.model_validate(content, strict=strict)
