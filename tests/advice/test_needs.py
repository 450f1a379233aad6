"""The form, and what is wrong in it."""

from pathlib import Path
from typing import Any

import pytest

from keybench.advice.needs import USUAL, ExistingKeys, Needs, count_of, database_of, needs, needs_from_options
from keybench.errors import UsageError
from tests.errors import raised


def form(**given: Any) -> Needs:
    return needs({**USUAL, "db": "postgresql", "rows": "1e9", **given})


@pytest.mark.parametrize(
    ("text", "rows"),
    [("1e9", 10**9), ("400M", 400_000_000), ("1.5b", 1_500_000_000), ("50_000_000", 50_000_000), ("12,000", 12_000)],
)
def test_rows_are_read_as_people_write_them(text: str, rows: int) -> None:
    assert count_of(text, "--rows") == rows


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": "many"}, "--rows 'many' is no number of rows: write it as 1e9, 400M or 50_000_000."),
        ({"rows": "12"}, "--rows '12': advice is for 1,000 to 100,000,000,000 rows."),
        ({"db": "postgresql:9"},
         "--db 'postgresql:9': keybench knows PostgreSQL 13, 14, 15, 16, 17, 18: name one of these, or none for 18."),
        ({"existing": "uuid-v4"}, "--existing 'uuid-v4' has no number of rows: write it as uuid-v4:400M."),
        ({"existing": "uuid-v4:2e9"},
         "--rows 1e9 is fewer than the 2,000,000,000 that exist: --rows counts all rows at the size that you plan "
         "for."),
        ({"rows_per_second": 1e-3},
         "1,000,000,000 rows take 31,688 years at 0.001 a second: give --rows-per-second 0.033 or more."),
        ({"rows": "1000", "rows_per_second": 1e-9},
         "1,000 rows take 31,688 years at 0.000000001 a second: give --rows-per-second 0.000000033 or more."),
        ({"db": "mariadb:10.6", "existing": "uuid-v4:1M:uuid"},
         "--existing 'uuid-v4:1M:uuid' on MariaDB 10.6: MariaDB has the type uuid from 10.7 on: choose the column "
         "binary16, or a newer version."),
        ({"existing": "uuid-v4:400M", "rows_per_second": 10, "retention": 7},
         "at 10 rows a second, --retention 7 keeps 6,048,000 of the 400,000,000 rows that exist: give --existing "
         "the rows that stay, or a longer --retention."),
        ({"writers": 0}, "--writers is 0: give a number from 1 to 1,000."),
        ({"payload": -1}, "--payload is -1: give a number from 0 to 8,000."),
        ({"behind": -1}, "--behind is -1: give a number from 0 to 1,000,000,000."),
        ({"ram": "much"}, "--ram 'much' is no size: write it as 512MB or 64GB."),
    ],
)  # fmt: skip
def test_what_the_form_cannot_mean(given: dict[str, Any], message: str) -> None:
    assert raised(UsageError, form, **given) == message


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"db": "postgress"}, "unknown database 'postgress'"),
        ({"existing": "uuid-v44:1M"}, "unknown layout 'uuid-v44'. Did you mean uuid-v4"),
        ({"existing": "uuid-v4:1M:char3"},
         "unknown column of PostgreSQL for uuid-v4 keys 'char3'. Did you mean char36"),
        ({"existing": "uuid-v4:1M:bigint"}, "unknown column of PostgreSQL for uuid-v4 keys 'bigint'. Known: "),
        ({"layout": "uuid-v44"}, "unknown layout 'uuid-v44'. Did you mean uuid-v4"),
        ({"type": "uid"}, "unknown --type 'uid'. Did you mean uuid"),
        ({"made_by": "me"}, "unknown --made-by 'me'. Known: any, client, server."),
    ],
)  # fmt: skip
def test_unknown_names_get_close_ones(given: dict[str, Any], begins: str) -> None:
    assert begins in raised(UsageError, form, **given)


def test_the_newest_version_is_the_default() -> None:
    on, version = database_of("postgresql")
    assert (on.name, version) == ("postgresql", "18")
    assert database_of("mariadb:10.11")[1] == "10.11"


def test_all_rows_come_in_a_year_unless_the_rate_is_given() -> None:
    assert form().rows_per_second == pytest.approx(31.7, abs=0.1)
    assert form(existing="uuid-v4:400M").rows_per_second == pytest.approx(19.0, abs=0.1)
    assert form(existing="uuid-v4:1e9").rows_per_second == pytest.approx(3.17, abs=0.1)  # a tenth more
    assert form(rows_per_second=200).rows_per_second == 200
    assert form(existing="uuid-v4:400M").existing == ExistingKeys("uuid-v4", 400_000_000)
    assert form(existing="uuid-v4:400M:char36").existing == ExistingKeys("uuid-v4", 400_000_000, "char36")


def test_retention_bounds_the_rows() -> None:
    assert form(rows_per_second=100, retention=30).rows == 100 * 30 * 86_400
    assert form(rows_per_second=100, retention=3000).rows == 10**9


def test_a_file_fills_the_form_and_options_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("keybench.toml").write_text('[advise]\ndb = "mariadb"\nrows = "200M"\nwriters = 8\nmade-by = "client"\n')
    form = needs_from_options({"writers": 4})
    assert (form.on.name, form.rows, form.writers, form.made_by) == ("mariadb", 200_000_000, 4, "client")


def test_what_is_missing_is_named() -> None:
    assert raised(UsageError, needs_from_options, {"db": "sqlite"}) == (
        "--rows is missing: how many rows will the table have at the size that you plan for (400M, 1e9)? "
        "Say it as in `keybench advise --db postgresql:18 --rows 1e9`."
    )


@pytest.mark.parametrize(
    ("text", "known"),
    [("mysql8", ("mysql", "8.4")), ("mysql:8", ("mysql", "8.4")), ("oracle:23ai", ("oracle", "23")),
     ("oracle:19c", ("oracle", "19")), ("sqlserver:2022", ("mssql", "2022")), ("pg:16", ("postgresql", "16")),
     ("pg", ("postgresql", "18"))],
)  # fmt: skip
def test_databases_and_versions_are_named_as_people_do(text: str, known: tuple[str, str]) -> None:
    on, version = database_of(text)
    assert (on.name, version) == known
