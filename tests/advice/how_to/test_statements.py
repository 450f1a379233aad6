"""What the statements say, without a server."""

from typing import cast

import pytest

from keybench.advice.how_to.existing import Name
from keybench.advice.how_to.statements import add_public_id, create_table, steps
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.statements import UNTESTED, Statement
from keybench.databases.core.ddl import alike, uuid_version
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.generators.core.layout import layouts
from tests.errors import raised

MODELLED = [on.name for on in engines().values() if on.has_page_model]


def created(database: str, version: str, column: str, layout: str) -> str:
    return create_table(engine(database), version, engine(database).column(column), layout)[-1].sql


@pytest.mark.parametrize(
    ("version", "layout", "default"),
    [("18", "uuid-v7", "DEFAULT uuidv7()"), ("", "uuid-v7-counter", "DEFAULT uuidv7()"),
     ("17.2", "uuid-v7", "DEFAULT uuid_v7()"), ("13", "uuid-v4", "DEFAULT gen_random_uuid()"),
     ("18", "rt-comb-postgresql", "DEFAULT new_comb()"), ("18", "uuid-v6", "uuid PRIMARY KEY"),
     ("18", "ulid", "uuid PRIMARY KEY")],
)  # fmt: skip
def test_postgresql_makes_the_keys_that_it_can(version: str, layout: str, default: str) -> None:
    assert default in created("postgresql", version, "uuid", layout)


def test_a_column_that_does_not_take_the_keys_is_refused() -> None:
    said = raised(UsageError, created, "postgresql", "18", "bigint", "uuid-v4")
    assert said == "the column bigint does not take all uuid-v4 keys: choose another column."


def test_a_name_that_needs_quotes_gets_them() -> None:
    on = engine("postgresql")
    assert 'CREATE TABLE "Order""s" (' in create_table(on, "", on.column("uuid"), "uuid-v4", 'Order"s')[0].sql


def test_layouts_of_one_version_and_order_are_alike() -> None:
    assert alike("uuid-v7", "postgresql-uuidv7")
    assert not alike("uuid-v4", "percona-week")
    assert not alike("uuid-v4", "rt-comb-postgresql")
    assert (uuid_version("uuid-v4"), uuid_version("ulid"), uuid_version("bigint-identity")) == (4, None, None)


def test_each_way_has_its_steps_in_order() -> None:
    on = engine("postgresql")
    uuid = on.column("uuid")

    def first_words(option: Name) -> list[str]:
        return [step.sql.split(" ")[0] for step in steps(option, on, "18", (uuid, "uuid-v4"), (uuid, "uuid-v7"))]

    assert first_words("stay") == []
    assert first_words("switch") == ["ALTER"]
    assert first_words("switch-rebuild-now") == ["REINDEX", "ALTER"]
    assert first_words("switch-rebuild-later") == ["ALTER", "REINDEX"]
    assert len(first_words("convert")) > 5


def test_random_keys_get_room_when_their_index_is_rebuilt() -> None:
    on = engine("postgresql")
    column = on.column("uuid")
    room, rebuild, _ = steps("switch-rebuild-now", on, "18", (column, "uuid-v7"), (column, "uuid-v4"))
    assert "fillfactor = 80" in room.sql
    assert rebuild.sql == "REINDEX INDEX CONCURRENTLY orders_pkey"
    assert len(steps("switch-rebuild-now", on, "18", (column, "uuid-v4"), (column, "uuid-v7"))) == 2


@pytest.mark.parametrize(("database", "version"), [("postgresql", "18"), ("oracle", "")])
def test_keys_of_the_application_change_without_a_statement(database: str, version: str) -> None:
    on = engine(database)
    column = on.default_column("uuid")
    (step,) = steps("switch", on, version, (column, "uuid-v4"), (column, "uuid-v6"))
    assert (step.sql, step.note.split(".")[0]) == ("", "Deploy the application that makes uuid-v6 keys")


@pytest.mark.parametrize(
    ("database", "version", "message"),
    [
        *(("postgresql", text, f"PostgreSQL {text!r} is unknown: name a version from 13 on, for example 15 or 18.4.")
          for text in ("12", "x", "18.1.2.3", "-1")),
        ("mysql", "5.6", "MySQL '5.6' is unknown: name a version from 8.0.13 on, for example 9.7."),
        ("mariadb", "x", "MariaDB 'x' is unknown: name a version from 10.6 on, for example 11.8."),
        ("mariadb", "10.6", "MariaDB has the type uuid from 10.7 on: choose the column binary16, or a newer version."),
        ("mssql", "2005", "SQL Server '2005' is unknown: name one of 2008, 2012, 2014, 2016, 2017, 2019, 2022, 2025."),
        ("oracle", "9i", "Oracle '9i' is unknown: name a release from 12c to 26ai, for example 19c."),
        ("sqlite", "2", "SQLite '2' is unknown: name a version 3, for example 3.50."),
    ],
)  # fmt: skip
def test_a_version_that_is_not_known_is_refused(database: str, version: str, message: str) -> None:
    column = engine(database).default_column("uuid").name
    assert raised(UsageError, created, database, version, column, "uuid-v4") == message


@pytest.mark.parametrize(
    ("database", "version", "column", "layout", "text"),
    [
        ("mysql", "8.0", "binary16-swapped", "uuid-v1", "DEFAULT (UUID_TO_BIN(UUID(), 1))"),
        ("mariadb", "11.8", "uuid", "uuid-v7", "DEFAULT UUID_v7()"),
        ("mssql", "2022", "uniqueidentifier", "newsequentialid", "DEFAULT NEWSEQUENTIALID()"),
        ("mssql", "2022", "uniqueidentifier", "newsequentialid", "OPTIMIZE_FOR_SEQUENTIAL_KEY = ON"),
        ("mssql", "2022", "uniqueidentifier", "uuid-v4", "DEFAULT NEWID()"),
        ("mssql", "16.0", "uniqueidentifier", "rt-comb-sql", "CAST(NEWID() AS binary(10)) + CAST(DATEDIFF_BIG("),
        ("mssql", "2014", "uniqueidentifier", "rt-comb-sql", "id uniqueidentifier NOT NULL,"),
        ("mssql", "", "bigint", "bigint-identity", "id bigint NOT NULL IDENTITY"),
        ("oracle", "26ai", "raw16", "uuid-v4", "id RAW(16) DEFAULT UUID() NOT NULL"),
        ("oracle", "19c", "raw16", "uuid-v4", "id RAW(16) NOT NULL"),
        ("oracle", "23", "raw16", "oracle-sys-guid", "DEFAULT SYS_GUID()"),
    ],
)
def test_each_server_makes_what_it_can(database: str, version: str, column: str, layout: str, text: str) -> None:
    assert text in created(database, version, column, layout)


@pytest.mark.parametrize(
    ("database", "column", "layout", "declaration"),
    [
        ("postgresql", "uuid", "uuid-v7", "DEFAULT uuidv7()"),
        ("mysql", "binary16", "uuid-v7", "DEFAULT (UNHEX(CONCAT("),
        ("mariadb", "uuid", "uuid-v7", "DEFAULT UUID_v7()"),
    ],
)
def test_keys_made_by_clients_have_no_default(database: str, column: str, layout: str, declaration: str) -> None:
    on, of = engine(database), engine(database).column(column)
    new = (of, layout)

    def told(*, by_clients: bool) -> tuple[str, str, str]:
        ways = (
            create_table(on, "", of, layout, by_clients=by_clients),
            steps("switch", on, "", new, new, by_clients=by_clients),
            steps("convert", on, "", new, new, by_clients=by_clients),
        )
        created, switched, converted = ("\n".join(f"{one.sql}\n{one.note}" for one in way) for way in ways)
        return created, switched, converted

    assert [declaration in text for text in told(by_clients=False)] == [True, True, True]
    assert [declaration in text for text in told(by_clients=True)] == [False, False, False]
    created, switched, _ = told(by_clients=True)
    assert "The application makes every key, so the column needs no default." in created
    assert switched.startswith(
        f"\nDeploy the application that makes {layout} keys. The application makes every key, so the column needs no "
        "default."
    )


def test_sequential_keys_need_a_version_that_knows_them() -> None:
    assert "OPTIMIZE_FOR_SEQUENTIAL_KEY" not in created("mssql", "2017", "uniqueidentifier", "newsequentialid")
    assert "OPTIMIZE_FOR_SEQUENTIAL_KEY" not in created("mssql", "2022", "uniqueidentifier", "uuid-v4")


def test_keys_of_time_in_uniqueidentifier_are_warned_of() -> None:
    on = engine("mssql")
    (create,) = create_table(on, "", on.column("uniqueidentifier"), "uuid-v7")
    assert "these keys are in no order: take binary(16)" in create.note


def test_what_no_server_has_run_says_so_and_names_its_page() -> None:
    on, oracle = engine("mssql"), engine("oracle")
    column = on.default_column("uuid")
    listed = steps("switch-rebuild-later", on, "", (column, "uuid-v4"), (column, "rt-comb-sql"))
    listed += create_table(on, "", column, "uuid-v4")
    listed += create_table(oracle, "", oracle.default_column("uuid"), "oracle-sys-guid")
    listed += add_public_id(on, "2022", on.column("bigint"), "bigint-identity")
    listed += add_public_id(oracle, "26ai", oracle.column("number"), "bigint-identity")
    for statement in listed:
        assert not statement.confirmed
        assert statement.source.startswith("https://")


@pytest.mark.parametrize(
    ("database", "option", "expected"),
    [("mssql", "convert", [UNTESTED]), ("mssql", "retype", [UNTESTED]), ("oracle", "retype", [UNTESTED]),
     ("oracle", "switch", [UNTESTED]), ("oracle", "switch-rebuild-now", [UNTESTED, UNTESTED])],
)  # fmt: skip
def test_where_no_recipe_was_tested_one_sentence_says_so(
    database: str, option: Name, expected: list[Statement]
) -> None:
    on = engine(database)
    column = on.default_column("uuid")
    assert steps(option, on, "", (column, "uuid-v4"), (column, "uuid-v4")) == expected


@pytest.mark.parametrize(
    ("database", "version", "column", "name"),
    [
        ("postgresql", "18", "uuid", "uuid-v7"),
        ("mariadb", "10.6", "bigint", "bigint-identity"),
        ("oracle", "19c", "number", "bigint-identity"),
    ],
)
def test_a_public_id_needs_an_integer_key_and_random_keys_of_the_server(
    database: str, version: str, column: str, name: str
) -> None:
    on = engine(database)
    assert add_public_id(on, version, on.column(column), name) == [UNTESTED]


@pytest.mark.parametrize(
    ("database", "old", "new"),
    [
        ("postgresql", ("uuid", "uuid-v4"), ("text", "ulid-text")),
        ("mysql", ("binary16", "uuid-v4"), ("char", "ulid-text")),
        ("mysql", ("binary16", "uuid-v4"), ("bigint", "snowflake")),
    ],
)
def test_keys_that_no_default_makes_unique_are_not_converted(
    database: str, old: tuple[str, str], new: tuple[str, str]
) -> None:
    """A program that does not know the new keys could not insert."""
    on = engine(database)
    assert steps("convert", on, "", (on.column(old[0]), old[1]), (on.column(new[0]), new[1])) == [UNTESTED]


def test_every_engine_of_which_advice_speaks_knows_statements() -> None:
    """Advice needs a page model."""
    assert [on.name for on in engines().values() if on.statements()] == MODELLED


@pytest.mark.parametrize("database", MODELLED)
def test_every_layout_has_statements_on_every_engine(database: str) -> None:
    on = engine(database)
    for name, chosen in layouts().items():
        column = on.default_column(chosen.kind, chosen.shared_bits())
        for listed in (
            create_table(on, "", column, name),
            steps("switch", on, "", (column, name), (column, name)),
            steps("switch-rebuild-later", on, "", (column, name), (column, name))[1:],
            steps("convert", on, "", (column, name), (column, name)),
        ):
            assert listed, name
            assert all(statement.sql or statement.note for statement in listed), name


def test_an_engine_of_other_people_has_none() -> None:
    class Other:
        name = "other"

        def statements(self) -> None:
            """None."""

    on = engine("postgresql")
    assert create_table(cast("Engine", Other()), "", on.column("uuid"), "uuid-v4") == []
