"""What keys are in a column, and which needs they miss."""

from typing import Any

import pytest

from keybench.advice.candidates import Candidate, candidates, for_new_rows
from keybench.advice.needs import USUAL, needs

KEPT = {"uuid-v4", "uuid-v7", "uuid-v6", "efcore-sequential", "rt-comb-sql", "snowflake", "nanoid", "ulid-monotonic"}


def found(db: str, **given: Any) -> dict[str, Candidate]:
    made = needs({**USUAL, "db": db, "rows": "1e6", **given})
    return {one.label: one for one in candidates(made, KEPT.__contains__)}


def meeting(db: str, **given: Any) -> set[str]:
    return {label for label, one in found(db, **given).items() if not one.misses}


def test_the_same_keys_in_two_columns_of_sql_server() -> None:
    here = found("mssql")
    assert not here["uuid-v7"].properties.sortable
    assert here["uuid-v7"].properties.contention == "many pages"
    assert here["uuid-v7 · binary16"].properties.sortable
    assert here["uuid-v7 · binary16"].properties.contention == "one page"
    assert here["efcore-sequential"].properties.contention == "a page a writer"


def test_what_a_server_makes_depends_on_its_version() -> None:
    assert found("postgresql:18")["postgresql-uuidv7"].properties.server
    older = found("postgresql:17", made_by="server")
    assert (older["uuid-v7"].properties.server, older["uuid-v7"].properties.default) == (None, "a function")
    assert not older["uuid-v7"].misses
    assert found("mysql", made_by="server")["uuid-v7"].properties.default == "an expression"
    assert found("mariadb:10.6", made_by="server")["uuid-v7 · binary16"].misses == ("MariaDB 10.6 does not make them",)
    assert not older["uuid-v4"].misses
    assert older["snowflake"].misses == ("no version makes these keys",)


def test_the_version_chooses_the_rules_by_which_pages_split() -> None:
    old, new = (found(f"mssql:{version}")["rt-comb-sql"].table(100) for version in ("2008", "2022"))
    assert (old.settings, new.settings) == ({"before_2012": "on"}, {})


@pytest.mark.parametrize(
    ("need", "some", "none_of"),
    [
        ({"made_by": "client"}, {"uuid-v7", "snowflake"}, {"bigint-identity"}),
        ({"type": "integer"}, {"bigint-identity", "snowflake"}, {"uuid-v7", "nanoid"}),
        ({"type": "text"}, {"nanoid", "uuid-v7 · char36"}, {"bigint-identity"}),
        ({"unguessable": True}, {"uuid-v4", "uuid-v7"}, {"bigint-identity", "snowflake", "ulid-monotonic", "uuid-v6"}),
        ({"hides_time": True}, {"uuid-v4", "nanoid", "bigint-identity"}, {"uuid-v7", "efcore-sequential"}),
        ({"hides_machine": True}, {"uuid-v4", "uuid-v7"}, {"uuid-v6", "snowflake"}),
        ({"merge": True}, {"uuid-v4", "uuid-v6"}, {"bigint-identity", "snowflake"}),
        ({"sortable": True}, {"uuid-v7", "bigint-identity", "uuid-v6"}, {"uuid-v4", "nanoid", "efcore-sequential"}),
    ],
)
def test_each_need_alone(need: dict[str, Any], some: set[str], none_of: set[str]) -> None:
    met = meeting("mysql", **need)
    assert some <= met
    assert not none_of & met


def test_a_need_that_is_missed_is_a_sentence() -> None:
    here = found("postgresql", unguessable=True, hides_machine=True)
    assert here["snowflake"].misses == (
        "0 of its bits are drawn for each key, too few against guessing",
        "a key tells when it was made and which worker made it",
    )
    assert here["snowflake"].missed_options == ("--unguessable", "--hides-machine")


def test_layouts_that_nobody_keeps_are_there_only_on_request() -> None:
    assert "rt-comb-legacy" not in found("mssql")
    assert "rt-comb-legacy" in found("mssql", layout="rt-comb-legacy")
    assert "rt-comb-legacy" in found("mssql", existing="rt-comb-legacy:500k")


def test_a_version_before_the_servers_own_type_has_bytes() -> None:
    assert "uuid-v7 · binary16" in found("mariadb:10.6")
    assert "uuid-v7" not in found("mariadb:10.6")
    assert "uuid-v7" in found("mariadb:10.11")


def test_existing_keys_are_looked_at_in_their_column() -> None:
    assert "uuid-v4 · char36" in found("mysql", existing="uuid-v4:500k:char36")
    assert "uuid-v4 · char36" not in found("mysql", existing="uuid-v4:500k")


@pytest.mark.parametrize(
    ("db", "existing", "label", "misses"),
    [
        ("postgresql", "int-identity", "int-identity", {"--made-by client", "--made-by server"}),
        ("sqlite", "bigint-hilo", "bigint-hilo", {"--made-by client", "--made-by server"}),
        ("postgresql", "newsequentialid", "newsequentialid", {"--made-by client", "--made-by server"}),
        ("mysql", "uuid-v5", "uuid-v5", {"--made-by client", "--made-by server"}),
    ],
)
def test_keys_that_the_table_has_are_known_whoever_makes_them(
    db: str, existing: str, label: str, misses: set[str]
) -> None:
    assert label not in found(db)
    assert found(db, existing=f"{existing}:500k")[label].misses == ()
    asked = ({"made_by": who, "existing": f"{existing}:500k"} for who in ("client", "server"))
    assert {option for given in asked for option in found(db, **given)[label].missed_options} == misses


def test_existing_uuids_are_no_text_because_new_keys_will_be() -> None:
    here = found("postgresql", type="text", existing="uuid-v4:500k")
    assert here["uuid-v4"].misses == ("it is a UUID",)
    assert here["uuid-v4 · char36"].misses == ()


@pytest.mark.parametrize(
    ("db", "today", "best", "new"),
    [
        *(
            (db, ("uuid-v4", "char36"), best, "uuid-v7")
            for db, best in (("mssql", "efcore-sequential"), ("oracle", "uuid-v7"), ("postgresql", "uuid-v7"),
                             ("mysql", "uuid-v7"), ("mariadb", "uuid-v7"), ("sqlite", "uuid-v7"))
        ),
        ("mssql", ("uuid-v4", "binary16"), "rt-comb-sql", "uuid-v7"),
        ("mssql", ("uuid-v4", "uniqueidentifier"), "rt-comb-sql", "rt-comb-sql"),
        ("mssql", ("rt-comb-sql", "char36"), "efcore-sequential", "uuid-v7"),
        ("mssql", ("uuid-v7", "char36"), "efcore-sequential", None),
        ("mssql", ("uuid-v4", "char36"), "bigint-identity", "uuid-v7"),
    ],
)  # fmt: skip
def test_new_rows_get_ordered_keys_in_the_column_that_stays(
    db: str, today: tuple[str, str], best: str, new: str | None
) -> None:
    given = {"existing": f"{today[0]}:1000:{today[1]}", "made_by": "client" if best != "bigint-identity" else "any"}
    here = found(db, **given)
    holds = next(one for one in here.values() if (one.name, one.column.name) == today)
    form = needs({**USUAL, "db": db, "rows": "1e6", **given})
    chosen = for_new_rows(form, holds, here[best], list(here.values()), lambda name: 8 * (name == "uuid-v7"))
    assert (chosen and chosen.name) == new


def test_no_server_makes_text_for_new_rows() -> None:
    given = {"existing": "uuid-v4:1000:char36", "made_by": "server"}
    here = found("mssql", **given)
    form = needs({**USUAL, "db": "mssql", "rows": "1e6", **given})
    assert for_new_rows(form, here["uuid-v4 · char36"], here["newsequentialid"], list(here.values()), len) is None
