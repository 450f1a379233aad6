"""The schema version, and the migrations from each older version to the next.

Each migration declares the tables as they were at its time, because `tables` has only the current ones.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    ExecutableDDLElement,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    insert,
    literal,
    select,
)

from keybench.model.subject import Subject

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
