"""The tables of the results database, their version, and the migrations from each older version to the next.

A run has blocks, a block has trials, a trial has values, series and blobs. Nothing computed is stored: ratios and
differences are computed when they are needed. Each migration declares the tables as they were at its time.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Column,
    Connection,
    DateTime,
    Dialect,
    ExecutableDDLElement,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    insert,
    literal,
    select,
)

from keybench.model.subject import Subject

POSTGRESQL_SCHEMA = "keybench"
"""A team's PostgreSQL database may hold other tables, so ours have a schema of their own."""


class _Utc(TypeDecorator[datetime]):
    """A UTC time with its time zone. SQLite has no such type and stores it without the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


class _Words(TypeDecorator[str]):
    """Text that any server accepts: NUL and lone surrogates (in file names or driver errors) are escaped."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        if value is None:
            return None
        return value.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


class _BigNumber(TypeDecorator[int]):
    """An integer of any size, as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: int | None, _dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, _dialect: Dialect) -> int | None:
        return None if value is None else int(value)


metadata = MetaData()

meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

run = Table(
    "run",
    metadata,
    Column("id", Text, primary_key=True),
    Column("started", _Utc, nullable=False),
    Column("keybench", Text, nullable=False),
    Column("command", _Words, nullable=False),
    Column("seed", _BigNumber, nullable=False),
    Column("blocks", Integer, nullable=False),
    Column("scenario", _Words, nullable=False),
    Column("profile", Text, nullable=False),
    Column("definition", JSON, nullable=False),
    Column("machine", JSON, nullable=False),
)

environment = Table(
    "environment",
    metadata,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("database", Text, primary_key=True),
    Column("server", _Words, primary_key=True),
    Column("versions", JSON, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("cache_bytes", BigInteger, nullable=False),
)

block = Table(
    "block",
    metadata,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("started", _Utc, nullable=False),
)

trial = Table(
    "trial",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", Text, nullable=False),
    Column("block", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("database", Text, nullable=False),
    Column("server", _Words, nullable=False),
    Column("column", Text, nullable=False),
    Column("layout", _Words, nullable=False),
    Column("scenario", _Words, nullable=False),
    Column("payload", Integer, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("writers", Integer, nullable=False),
    Column("rows_per_tx", Integer, nullable=False),
    Column("started", _Utc, nullable=False),
    Column("seconds", Float(53), nullable=False),
    Column("status", Text, nullable=False),
    Column("error", _Words, nullable=False),
    Column("traceback", _Words),
    ForeignKeyConstraint(["run", "block"], ["block.run", "block.number"]),
    UniqueConstraint("run", "block", "position"),
)

value = Table(
    "value",
    metadata,
    Column("trial", ForeignKey("trial.id"), primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("subject_kind", Text, primary_key=True),
    Column("subject_name", _Words, primary_key=True),
    Column("value", Float(53)),
    Column("origin", Text, nullable=False),
    Column("reason", _Words, nullable=False),
)

series = Table(
    "series",
    metadata,
    Column("trial", ForeignKey("trial.id"), primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("x", LargeBinary, nullable=False, comment="zlib of little-endian int64"),
    Column("y", LargeBinary, nullable=False, comment="zlib of little-endian float64"),
)

blob = Table(
    "blob",
    metadata,
    Column("trial", ForeignKey("trial.id"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False, comment="zlib of a line of JSON and arrays (results.store.blobs)"),
)

warning = Table(
    "warning",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", ForeignKey("run.id"), nullable=False),
    Column("text", _Words, nullable=False),
)

# History:
# 1 - the first.
# 2 - value.subject_kind and .subject_name in place of value.object; trial.traceback.
SCHEMA_VERSION = 2


def _subjects(connection: Connection) -> None:
    """Version 1 to 2: the text `object` becomes a subject's kind and name; failed trials get room for a traceback."""
    metadata = MetaData()
    trial = Table("trial", metadata, Column("id", Integer, primary_key=True))
    rest = ("value", "origin", "reason")
    old = Table("value", metadata, *(Column(name, Text) for name in ("trial", "metric", "object", *rest)))
    new = Table(
        "value_2",
        metadata,
        Column("trial", ForeignKey("trial.id"), primary_key=True),
        Column("metric", Text, primary_key=True),
        Column("subject_kind", Text, primary_key=True),
        Column("subject_name", Text, primary_key=True),
        Column("value", Float(53)),
        Column("origin", Text, nullable=False),
        Column("reason", Text, nullable=False),
    )
    new.create(connection)
    for text in connection.execute(select(old.c.object).distinct()).scalars().all():
        if text.startswith(("grid ", "shard ", "model: ")):  # keybench no longer has such subjects
            continue
        subject = Subject.parse(text)
        place = (literal(subject.kind.value), literal(subject.name))
        rows = select(old.c.trial, old.c.metric, *place, *(old.c[name] for name in rest)).where(old.c.object == text)
        connection.execute(insert(new).from_select([column.name for column in new.c], rows))
    old.drop(connection)
    connection.execute(_statement("ALTER TABLE %(fullname)s RENAME TO value", new))
    connection.execute(_statement("ALTER TABLE %(fullname)s ADD COLUMN traceback TEXT", trial))


def _statement(text: str, table: Table) -> ExecutableDDLElement:
    """The statement, with the table's schema before its name."""
    return DDL(text).against(table)  # type: ignore[no-untyped-call]


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_subjects,)
"""MIGRATIONS[v - 1] migrates from version v to v + 1, in the transaction that also writes the new version."""
