"""The advice on a table that exists is that of `keybench advise`."""

import shlex
from dataclasses import replace

import pytest

from keybench.advice import command
from keybench.advice.inspection.advised import Advice, advice, column_on, version_of
from keybench.advice.inspection.findings import IndexFinding, TableFinding
from keybench.advice.inspection.naming import content
from keybench.advice.inspection.new_rows import NewRows
from keybench.advice.inspection.sentences import urgent
from keybench.databases.contract.existing import ColumnHere, IndexHere, PagesHere, SampleHere, TableHere
from keybench.databases.registry import engine
from scripts.questions import needs_of
from tests.advice.inspection.planted import NOW, instants, made, values

UUID = ColumnHere("id", "uuid", "uuid")


def table(layout: str, rows: float, size: int, *columns: ColumnHere) -> TableFinding:
    keys = content(SampleHere(list(values(made(layout, instants(2_000))))), "uuid", NOW)  # type: ignore[arg-type]
    index = IndexHere("orders_pkey", columns or (UUID,), ("primary key",))
    found = IndexFinding(index, (keys,) * len(index.key), pages=PagesHere(bytes=size, density=71.0, full=90.0))
    return TableFinding(TableHere("public", "orders", rows=rows, row_bytes=116.0, children=2), (found,))


def test_small_tables_are_left_as_they_are_without_a_model() -> None:
    on = engine("postgresql")
    assert advice(on, "16.3 (Debian 16.3-1)", table("uuid-v4", 20_000, 1_000_000)) == Advice(
        "Leave it: at 20,000 rows and 977 KB of index, other keys save little.",
        "keybench advise --db postgresql:16 --rows 20000 --existing uuid-v4:20000:uuid --payload 100 --children 2",
    )
    assert advice(on, "16.3", table("uuid-v4", 400, 1_000_000)) == Advice(
        "Leave it: at 400 rows and 977 KB of index, other keys save little."
    )
    several = advice(on, "16.3", table("uuid-v4", 1e9, 10**10, ColumnHere("tenant", "bigint", "int"), UUID))
    assert several == Advice("keybench advises on keys of one column, not yet on those of several.")


def test_what_is_urgent_and_what_a_rebuild_gains_comes_first() -> None:
    on, found = engine("postgresql"), table("uuid-v7", 3e8, 12 * 10**9)
    (index,) = found.indexes
    between = replace(found, indexes=(replace(index, new_rows=NewRows("between")),))
    reply = advice(on, "18.1", between)
    assert reply.text == "Rebuild the index orders_pkey: it would be 2.36 GB smaller."
    keys = content(SampleHere(made("bigint-identity", instants(2_000)).data), "int", NOW)
    narrow = ColumnHere("id", "integer", "int", most=(1 << 31) - 1)
    full = IndexFinding(IndexHere("pk", (narrow,), ("primary key",)), (keys,), highest=2_100_000_000)
    reply = advice(on, "18.1", replace(found, indexes=(full,)))
    assert reply == Advice(
        "Make public.orders.id bigint before its keys end; the columns that refer to it go first. Fill a second column "
        "in batches: a change in place locks the table while all rows are written again. The sequence and the programs "
        "may stop at 32 bits, too."
    )
    (danger,) = urgent(replace(found, indexes=(full,)))
    assert danger == "public.orders.id is at 2.1 billion of 2.15 billion: 47.5 million keys are left"
    wide = replace(narrow, sql_type="bigint", most=(1 << 63) - 1)
    full = replace(full, index=replace(full.index, key=(wide,)), highest=9 * 10**18)
    reply = advice(on, "18.1", replace(found, indexes=(full,)))
    assert reply.text.startswith("No integer type is wider than that of public.orders.id: ")


def test_the_command_of_an_int_column_has_the_counter_that_it_holds() -> None:
    narrow = ColumnHere("id", "integer", "int", most=(1 << 31) - 1)
    keys = content(SampleHere(made("bigint-identity", instants(2_000)).data), "int", NOW)
    index = IndexFinding(IndexHere("pk", (narrow,), ("primary key",)), (keys,), highest=200_000, pages=PagesHere(10**7))
    reply = advice(engine("postgresql"), "18.1", replace(table("uuid-v4", 200_000, 10**7), indexes=(index,)))
    assert " --existing int-identity:200000:int " in reply.command
    assert needs_of(reply.command).existing


@pytest.mark.long
@pytest.mark.parametrize(
    ("layout", "begins"), [("uuid-v4", "Give new rows "), ("uuid-v7", "Leave it: no key is clearly better ")]
)
def test_large_tables_get_the_first_sentence_of_advise(layout: str, begins: str, capsys) -> None:
    found = advice(engine("postgresql"), "18.1", table(layout, 3e8, 12 * 10**9))
    assert found.text.startswith(begins)
    command.app(shlex.split(found.command)[2:], standalone_mode=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(" ".join(found.text.split()))


@pytest.mark.parametrize(
    ("db", "server", "known"),
    [("postgresql", "18.1 (Debian 18.1-1)", "18"), ("postgresql", "12.3", ""), ("mariadb", "10.11.6-MariaDB", "10.11"),
     ("mariadb", "11.5.2-MariaDB", "11.4"), ("mysql", "9.7.0", "9.7"), ("mssql", "16.0.4135.4", "2022"),
     ("sqlite", "3.54.1", "3")],
)  # fmt: skip
def test_versions_are_those_that_advise_knows(db: str, server: str, known: str) -> None:
    assert version_of(engine(db), server) == known


@pytest.mark.parametrize(
    ("db", "column", "name"),
    [("postgresql", UUID, "uuid"), ("postgresql", ColumnHere("id", "character(36)", "text"), "char36"),
     ("postgresql", ColumnHere("id", "bytea", "bytes"), "binary16"), ("mariadb", UUID, "uuid"),
     ("mysql", ColumnHere("id", "char(36)", "text"), "char36"),
     ("mssql", ColumnHere("id", "uniqueidentifier", "uuid", "mssql"), "uniqueidentifier")],
)  # fmt: skip
def test_columns_are_those_of_the_engine(db: str, column: ColumnHere, name: str) -> None:
    keys = table("uuid-v4", 1e6, 10**6).key
    assert column_on(engine(db), column, keys.content.groups[0]) == name


def test_integers_are_in_a_column_of_their_width() -> None:
    keys = content(SampleHere(made("bigint-identity", instants(2_000)).data), "int", NOW).groups[0]
    wide = ColumnHere("id", "bigint", "int", most=(1 << 63) - 1)
    narrow = replace(wide, sql_type="integer", most=(1 << 31) - 1)
    assert [column_on(engine("postgresql"), one, keys) for one in (wide, narrow)] == ["bigint", "int"]
