"""What a table needs of its key: the form that a person fills in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from keybench.advice.figure import FEWEST_ROWS
from keybench.advice.how_to.orm import Orm, orm
from keybench.advice.how_to.statements import create_table
from keybench.advice.load import Growth
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError, shortened, unknown_name
from keybench.generators.core.layout import Layout, layout
from keybench.model.names import CONTROL
from keybench.model.sizes import bytes_of, digits
from keybench.pagemodels.costs.contract import Server
from keybench.runners import config

KeyType = Literal["any", "uuid", "text", "integer"]
MadeBy = Literal["any", "client", "server"]

YEAR: Final = 365.25 * 86_400
"""Seconds."""
MOST_ROWS: Final = 10**11
_MOST_YEARS: Final = 1_000  # keys hold times, and the times of some layouts end
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}  # what the letter behind a number of rows multiplies it by


@dataclass(frozen=True)
class ExistingKeys:
    """The keys of the rows that the table has."""

    layout: str
    rows: int
    column: str = ""
    """The column that holds their keys; empty for the one that people would give them."""


@dataclass(frozen=True)
class Needs:
    """A table, and what its keys must be. All conditions hold together."""

    on: Engine
    version: str
    rows: int
    """At the size that is planned for, those that exist among them."""
    rows_per_second: float
    payload: int
    """Characters beside the key."""
    writers: int
    behind_seconds: float
    """How far the slowest writer is behind the fastest."""
    restarts_per_day: float
    ram: int
    """Bytes of the server's own page cache."""
    checkpoint: int | None
    """Bytes of log between two checkpoints, as the engine counts it; None: as on servers that keybench starts."""
    retention_days: float | None
    updates_per_row: float
    """Of other columns than the key."""
    hot: bool
    """Whether no index has a column that they change."""
    readers: bool
    """Whether transactions that last long read meanwhile."""
    secondary: int
    """Indexes beside the key's."""
    children: int
    """Tables that refer to the key."""
    type: KeyType
    made_by: MadeBy
    sortable: bool
    unguessable: bool
    hides_time: bool
    hides_machine: bool
    merge: bool
    """Unique over sites whose tables will be merged."""
    spread: bool
    """Inserts are to go to all servers of a cluster: the answer says how, since keybench knows no cluster."""
    existing: ExistingKeys | None
    layouts: tuple[str, ...]
    """Layouts that the answer is to speak of in any case."""
    orm: Orm | None = None
    """Whose mapping is shown in place of library calls."""
    public_id: bool = False
    """Whether people outside must not guess ids, while the table has integer keys: then a second, random id is better
    than another key."""

    @property
    def new_public_id(self) -> bool:
        """Whether a new table could have a counter inside and a random id outside."""
        return self.unguessable and self.on.creates_public_ids and not (self.existing or self.merge)

    @property
    def growth(self) -> Growth:
        """How the table comes to its rows."""
        return Growth(self.rows, self.rows_per_second, self.writers, self.behind_seconds, self.restarts_per_day)

    @property
    def server(self) -> Server:
        """The memory and the log behind the table."""
        return Server(cache_bytes=self.ram, checkpoint_bytes=self.checkpoint)

    @property
    def conditions(self) -> tuple[str, ...]:
        """What keys must be, as the options that say so."""
        flags = {
            f"--type {self.type}": self.type != "any",
            f"--made-by {self.made_by}": self.made_by != "any",
            "--sortable": self.sortable,
            "--unguessable": self.unguessable,
            "--hides-time": self.hides_time,
            "--hides-machine": self.hides_machine,
            "--merge": self.merge,
        }
        return tuple(option for option, applies in flags.items() if applies)


def count_of(text: str, option: str) -> int:
    """The number of rows that a text means: 1e9, 400M, 1.5B, 50_000_000. UsageError, which names the option, for
    another text, and for a number that advice is not for."""
    match = re.fullmatch(r"(\d[\d_,]*(?:\.\d+)?(?:e\d{1,2})?)\s*([kmb]?)", text.strip().lower())
    if not match:
        raise UsageError(f"{option} {shortened(text)} is no number of rows: write it as 1e9, 400M or 50_000_000.")
    rows = float(match[1].replace("_", "").replace(",", "")) * _UNITS[match[2]]
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise UsageError(f"{option} {shortened(text)}: advice is for {FEWEST_ROWS:,} to {MOST_ROWS:,} rows.")
    return round(rows)


def database_of(text: str) -> tuple[Engine, str]:
    """(the engine, its version) that `postgresql`, `postgresql:18`, `mysql8` or `oracle:23ai` means; the newest version
    if none is named. UsageError for an unknown one."""
    name, _, after_colon = text.strip().partition(":")
    on = engine(name)
    known = list(on.versions)  # the oldest first
    number = re.search(r"(\d[\d.]*)(?:ai|c|g)?$", after_colon or name)  # Oracle writes 23ai and 19c
    asked = number[1] if number else after_colon
    if not asked:
        return on, known[-1] if known else ""
    if not known:
        raise UsageError(f"--db {shortened(text)}: no versions of {on.title} are known: leave {asked} out.")
    matches = [version for version in known if f"{version}.".startswith(f"{asked}.")]  # of 8: 8.0 and 8.4
    if not matches:
        raise UsageError(
            f"--db {shortened(text)}: keybench knows {on.title} {', '.join(known)}: name one of these, or none for "
            f"{known[-1]}."
        )
    return on, matches[-1]


def existing_of(text: str, on: Engine, version: str) -> ExistingKeys:
    """The keys that `uuid-v4:400M` means, or `uuid-v4:400M:char36` with the column that holds them.

    UsageError for other text, and for a column that this version of the engine does not have."""
    name, colon, rest = text.strip().partition(":")
    if not colon:
        raise UsageError(f"--existing {shortened(text)} has no number of rows: write it as uuid-v4:400M.")
    chosen, control = layout(name), layout(CONTROL)
    if chosen.name == "int-identity" and _usual(on, chosen) == _usual(on, control):
        chosen = control  # the database has one type for both, of 64 bits or more
    rows, _, column = rest.partition(":")
    existing = ExistingKeys(chosen.name, count_of(rows, "--existing"), column)
    fitting = [one.name for one in on.columns if chosen.kind in one.kinds and one.accepts_all(chosen.shared_bits())]
    if column and column not in fitting:
        raise unknown_name(f"column of {on.title} for {chosen.name} keys", column, fitting)
    if column:
        try:  # fails where this version lacks the column
            create_table(on, version, on.column(column), chosen.name)
        except UsageError as why:
            raise UsageError(f"--existing {shortened(text)} on {on.title} {version}: {why}") from None
    return existing


def _usual(on: Engine, key_layout: Layout) -> str:
    """The name of the engine's own column for keys of that layout."""
    return on.default_column(key_layout.kind, key_layout.shared_bits()).name


def coming(rows: int, existing: ExistingKeys | None) -> int:
    """Rows that are to come; at least a tenth of those that exist, so that figures for rows to come mean something."""
    return max(rows - existing.rows, existing.rows // 10) if existing else rows


def needs(values: Mapping[str, object]) -> Needs:
    """The needs that the options' values, by name, mean. UsageError, with the next step, for what makes no sense."""
    on, version = database_of(str(values["db"]))
    if not on.has_page_model:
        raise on.without_page_model()
    existing = existing_of(str(values["existing"]), on, version) if values["existing"] else None
    rows = count_of(str(values["rows"]), "--rows")
    if existing and existing.rows > rows:
        raise UsageError(
            f"--rows {values['rows']} is fewer than the {existing.rows:,} that exist: --rows counts all rows at the "
            "size that you plan for."
        )
    # how fast rows come, and how many of them stay
    rate = _number(values, "rows_per_second", 0.0) or coming(rows, existing) / YEAR  # 0: all in a year
    if (years := rows / rate / YEAR) > _MOST_YEARS:
        raise UsageError(
            f"{rows:,} rows take {years:,.0f} years at {digits(rate, 2)} a second: give --rows-per-second "
            f"{digits(1.05 * rows / YEAR / _MOST_YEARS, 2)} or more."  # 5 % more than needed, since it is rounded
        )
    retention = _number(values, "retention", 0.0) or None
    if retention:
        rows = max(FEWEST_ROWS, min(rows, round(rate * retention * 86_400)))
        if existing and existing.rows > rows:
            raise UsageError(
                f"at {digits(rate, 3)} rows a second, --retention {digits(retention, 3)} keeps {rows:,} of the "
                f"{existing.rows:,} rows that exist: give --existing the rows that stay, or a longer --retention."
            )
    key_type = str(values["type"]).replace("guid", "uuid") or _type_of(existing)  # by default that of today's keys
    made_by = str(values["made_by"])
    hot = str(values["hot"])
    for option, value, choices in (
        ("--type", key_type, get_args(KeyType)),
        ("--made-by", made_by, get_args(MadeBy)),
        ("--hot", hot, ("yes", "no")),
    ):
        if value not in choices:
            raise unknown_name(option, value, choices)
    names = (name.strip() for name in str(values["layout"]).split(","))
    # Integers can be guessed. Where nobody asked for their type, today's integers stay, and a second id is random.
    public_id = bool(values["unguessable"]) and existing is not None and (values["type"], key_type) == ("", "integer")
    return Needs(
        on=on,
        version=version,
        rows=rows,
        rows_per_second=rate,
        payload=int(_number(values, "payload", 0, 8_000)),
        writers=int(_number(values, "writers", 1, 1_000)),
        behind_seconds=_number(values, "behind", 0.0, 1e9),
        restarts_per_day=_number(values, "restarts_per_day", 0.0),
        ram=bytes_of(str(values["ram"]), "--ram"),
        checkpoint=bytes_of(str(values["checkpoint"]), "--checkpoint") if values["checkpoint"] else None,
        retention_days=retention,
        updates_per_row=_number(values, "updates_per_row", 0.0, 1e6),
        hot=hot == "yes",
        readers=bool(values["readers"]),
        secondary=int(_number(values, "secondary", 0, 64)),
        children=int(_number(values, "children", 0, 64)),
        type=key_type,  # type: ignore[arg-type]  # checked above
        made_by=made_by,  # type: ignore[arg-type]
        unguessable=bool(values["unguessable"]) and not public_id,
        **{flag: bool(values[flag]) for flag in ("sortable", "hides_time", "hides_machine", "merge", "spread")},
        existing=existing,
        layouts=tuple(layout(name).name for name in names if name),
        public_id=public_id,
        orm=orm(str(values["orm"])) if values["orm"] else None,
    )


def _type_of(existing: ExistingKeys | None) -> KeyType:
    """The type of today's keys, as `--type` names it: UUIDs in a column of text are UUIDs."""
    kinds: Mapping[str, KeyType] = {"uuid": "uuid", "int": "integer", "text": "text"}
    return kinds.get(layout(existing.layout).kind, "any") if existing else "any"


def _number(values: Mapping[str, object], name: str, least: float, most: float = 1e12) -> float:
    """The value of an option as a number. UsageError, which names the option, if it is none or out of bounds."""
    value = values[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"{option} is {value!r}: give a number from {least:,.0f} to {most:,.0f}.")
    return float(value)


USUAL: Final[Mapping[str, Any]] = {
    "db": None, "rows": None, "rows_per_second": 0.0, "payload": 100, "writers": 1, "behind": 0.0,
    "restarts_per_day": 0.0, "ram": "16GB", "checkpoint": "", "retention": 0.0, "updates_per_row": 0.0, "hot": "yes",
    "readers": False, "secondary": 0, "children": 0, "type": "", "made_by": "any", "sortable": False,
    "unguessable": False, "hides_time": False, "hides_machine": False, "merge": False, "spread": False, "existing": "",
    "layout": "", "orm": "",
}  # fmt: skip
"""The fields of the form with their defaults; fields that are None have to be given."""

_MISSING: Final = {
    "db": "which database, with or without its version (postgresql:18, mariadb, mysql, sqlite, mssql, oracle)?",
    "rows": "how many rows will the table have at the size that you plan for (400M, 1e9)?",
}
"""What the error asks where a field that has to be given is missing."""


def needs_from_options(options: Mapping[str, Any]) -> Needs:
    """The needs by keybench.toml and by the options of the command line, which come first (None: the user did not name
    it). UsageError for a field that is missing, and for what the fields cannot mean."""
    values = {**USUAL, **config.options("advise", USUAL)}
    values |= {name: value for name, value in options.items() if value is not None}
    for name, question in _MISSING.items():
        if values[name] is None:
            raise UsageError(
                f"--{name} is missing: {question} Say it as in `keybench advise --db postgresql:18 --rows 1e9`."
            )
    return needs(values)
