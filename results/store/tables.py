"""The tables of the results database, their version, and the migrations from each older version to the next.

A run has blocks, a block has trials, a trial has values, series and blobs. Nothing computed is stored: ratios and
differences are computed when they are needed. Each migration declares the tables as they were at its time.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

from keybench.model.subject import Subject

POSTGRESQL_SCHEMA = "keybench"
"""A team's PostgreSQL database may hold other tables, so ours have a schema of their own."""


class _Utc(sa.TypeDecorator[datetime]):
    """A UTC time with its time zone. SQLite has no such type and stores it without the zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: sa.Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


class _Words(sa.TypeDecorator[str]):
    """Text that any server accepts: NUL and lone surrogates (in file names or driver errors) are escaped."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: sa.Dialect) -> str | None:
        if value is None:
            return None
        return value.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


class _BigNumber(sa.TypeDecorator[int]):
    """An integer of any size, as text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: int | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, _dialect: sa.Dialect) -> int | None:
        return None if value is None else int(value)


metadata = sa.MetaData()

meta = sa.Table(
    "meta", metadata, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)

run = sa.Table(
    "run",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("started", _Utc, nullable=False),
    sa.Column("keybench", sa.Text, nullable=False),
    sa.Column("command", _Words, nullable=False),
    sa.Column("seed", _BigNumber, nullable=False),
    sa.Column("blocks", sa.Integer, nullable=False),
    sa.Column("scenario", _Words, nullable=False),
    sa.Column("profile", sa.Text, nullable=False),
    sa.Column("definition", sa.JSON, nullable=False),
    sa.Column("machine", sa.JSON, nullable=False),
)

environment = sa.Table(
    "environment",
    metadata,
    sa.Column("run", sa.ForeignKey("run.id"), primary_key=True),
    sa.Column("database", sa.Text, primary_key=True),
    sa.Column("server", _Words, primary_key=True),
    sa.Column("versions", sa.JSON, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("cache_bytes", sa.BigInteger, nullable=False),
)

block = sa.Table(
    "block",
    metadata,
    sa.Column("run", sa.ForeignKey("run.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("started", _Utc, nullable=False),
)

trial = sa.Table(
    "trial",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("block", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("database", sa.Text, nullable=False),
    sa.Column("server", _Words, nullable=False),
    sa.Column("column", sa.Text, nullable=False),
    sa.Column("layout", _Words, nullable=False),
    sa.Column("scenario", _Words, nullable=False),
    sa.Column("payload", sa.Integer, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("writers", sa.Integer, nullable=False),
    sa.Column("rows_per_tx", sa.Integer, nullable=False),
    sa.Column("started", _Utc, nullable=False),
    sa.Column("seconds", sa.Float(53), nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("error", _Words, nullable=False),
    sa.Column("traceback", _Words),
    sa.ForeignKeyConstraint(["run", "block"], ["block.run", "block.number"]),
    sa.UniqueConstraint("run", "block", "position"),
)

value = sa.Table(
    "value",
    metadata,
    sa.Column("trial", sa.ForeignKey("trial.id"), primary_key=True),
    sa.Column("metric", sa.Text, primary_key=True),
    sa.Column("subject_kind", sa.Text, primary_key=True),
    sa.Column("subject_name", _Words, primary_key=True),
    sa.Column("value", sa.Float(53)),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("reason", _Words, nullable=False),
)

series = sa.Table(
    "series",
    metadata,
    sa.Column("trial", sa.ForeignKey("trial.id"), primary_key=True),
    sa.Column("metric", sa.Text, primary_key=True),
    sa.Column("x", sa.LargeBinary, nullable=False, comment="zlib of little-endian int64"),
    sa.Column("y", sa.LargeBinary, nullable=False, comment="zlib of little-endian float64"),
)

blob = sa.Table(
    "blob",
    metadata,
    sa.Column("trial", sa.ForeignKey("trial.id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column(
        "content", sa.LargeBinary, nullable=False, comment="zlib of a line of JSON and arrays (results.store.blobs)"
    ),
)

warning = sa.Table(
    "warning",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey("run.id"), nullable=False),
    sa.Column("text", _Words, nullable=False),
)

# History:
# 1 - the first.
# 2 - value.subject_kind and .subject_name in place of value.object; trial.traceback.
SCHEMA_VERSION = 2


def _subjects(connection: sa.Connection) -> None:
    """Version 1 to 2: the text `object` becomes a subject's kind and name; failed trials get room for a traceback."""
    metadata = sa.MetaData()
    trial = sa.Table("trial", metadata, sa.Column("id", sa.Integer, primary_key=True))
    rest = ("value", "origin", "reason")
    old = sa.Table("value", metadata, *(sa.Column(name, sa.Text) for name in ("trial", "metric", "object", *rest)))
    new = sa.Table(
        "value_2",
        metadata,
        sa.Column("trial", sa.ForeignKey("trial.id"), primary_key=True),
        sa.Column("metric", sa.Text, primary_key=True),
        sa.Column("subject_kind", sa.Text, primary_key=True),
        sa.Column("subject_name", sa.Text, primary_key=True),
        sa.Column("value", sa.Float(53)),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    new.create(connection)
    for text in connection.execute(sa.select(old.c.object).distinct()).scalars().all():
        if text.startswith(("grid ", "shard ", "model: ")):  # keybench no longer has such subjects
            continue
        subject = Subject.parse(text)
        names = (sa.literal(subject.kind.value), sa.literal(subject.name))
        rows = sa.select(old.c.trial, old.c.metric, *names, *(old.c[name] for name in rest)).where(old.c.object == text)
        connection.execute(sa.insert(new).from_select([column.name for column in new.c], rows))
    old.drop(connection)
    connection.execute(_statement("ALTER TABLE %(fullname)s RENAME TO value", new))
    connection.execute(_statement("ALTER TABLE %(fullname)s ADD COLUMN traceback TEXT", trial))


def _statement(text: str, table: sa.Table) -> sa.ExecutableDDLElement:
    """The statement, with the table's schema before its name."""
    return sa.DDL(text).against(table)  # type: ignore[no-untyped-call]


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_subjects,)
"""MIGRATIONS[v - 1] migrates from version v to v + 1, in the transaction that also writes the new version."""
