"""What the statements say, without a server."""

import re

import pytest

from keybench.advice.how_to.statements import create_table, rebuild_index, switch_keys
from keybench.databases.core.server_made import alike, uuid_version
from keybench.databases.registry import engine
from keybench.errors import UsageError


def created(database: str, version: str, column: str, layout: str) -> str:
    return create_table(engine(database), version, engine(database).column(column), layout)[-1].sql


@pytest.mark.parametrize(
    ("version", "layout", "default"),
    [
        ("18", "uuid-v7", "DEFAULT uuidv7()"),
        ("", "uuid-v7-counter", "DEFAULT uuidv7()"),
        ("17.2", "uuid-v7", "DEFAULT uuid_v7()"),
        ("13", "uuid-v4", "DEFAULT gen_random_uuid()"),
        ("18", "rt-comb-postgresql", "DEFAULT new_comb()"),
        ("18", "uuid-v6", "uuid PRIMARY KEY"),
        ("18", "ulid", "uuid PRIMARY KEY"),
    ],
)
def test_postgresql_makes_the_keys_that_it_can(version: str, layout: str, default: str) -> None:
    assert default in created("postgresql", version, "uuid", layout)


@pytest.mark.parametrize("version", ["12", "x", "18.1.2.3", "-1"])
def test_a_version_that_is_not_known_is_refused(version: str) -> None:
    message = f"PostgreSQL {version!r} is unknown: name a version from 13 on, for example 15 or 18.4."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        created("postgresql", version, "uuid", "uuid-v4")


def test_a_column_that_does_not_take_the_keys_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^the column bigint does not take all uuid-v4 keys: choose another column\.$"
    ):
        created("postgresql", "18", "bigint", "uuid-v4")


def test_a_name_that_needs_quotes_gets_them() -> None:
    on = engine("postgresql")
    assert 'CREATE TABLE "Order""s" (' in create_table(on, "", on.column("uuid"), "uuid-v4", 'Order"s')[0].sql


def test_layouts_of_one_version_and_order_are_alike() -> None:
    assert alike("uuid-v7", "postgresql-uuidv7")
    assert not alike("uuid-v4", "percona-week")
    assert not alike("uuid-v4", "rt-comb-postgresql")
    assert (uuid_version("uuid-v4"), uuid_version("ulid"), uuid_version("bigint-identity")) == (4, None, None)


def test_random_keys_get_room_when_their_index_is_rebuilt() -> None:
    on = engine("postgresql")
    room, rebuild = rebuild_index(on, "18", on.column("uuid"), "uuid-v4")
    assert "fillfactor = 80" in room.sql
    assert rebuild.sql == "REINDEX INDEX CONCURRENTLY orders_pkey"
    assert len(rebuild_index(on, "18", on.column("uuid"), "uuid-v7")) == 1


def test_keys_of_the_application_change_without_a_statement() -> None:
    on = engine("postgresql")
    (step,) = switch_keys(on, "18", on.column("uuid"), "uuid-v6")
    assert (step.sql, step.note.split(".")[0]) == ("", "Deploy the application that makes uuid-v6 keys")
