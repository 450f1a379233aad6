"""Whole answers, of tables so small that all rows are simulated."""

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from keybench.advice import sentences
from keybench.advice.answer import Answer, _today, answer
from keybench.advice.candidates import candidates
from keybench.advice.needs import USUAL, needs
from keybench.advice.output import as_json, document, terminal
from keybench.advice.screen import screen, steps
from keybench.errors import UsageError
from tests.errors import raised

Asked = Callable[..., Answer]
ENGINES = {"sqlite": "bigint-identity", "oracle": "bigint-identity", "mariadb": "int-identity", "mssql": "int-identity"}


@pytest.fixture(scope="module")
def asked() -> Asked:
    def ask(**given: Any) -> Answer:
        return answer(needs({**USUAL, "db": "sqlite", "rows": "20000", **given}))

    return ask


@pytest.fixture(scope="module")
def of(asked: Asked) -> Answer:
    return asked(made_by="client", existing="uuid-v4:10000")


def test_a_small_table_is_left_as_it_is(of: Answer) -> None:
    seen = screen(of)
    assert seen.do.startswith("At this size it does not matter. Leave it: ")
    assert [(row[0], row[-1]) for row in seen.rows] == [
        ("today's keys", "recommended"),
        ("uuid-v7 for new rows", "saves too little"),
        ("uuid-v7, later a rebuild", "saves too little"),
    ]
    assert not seen.code


def test_a_large_table_gets_other_keys_where_they_save_a_tenth(asked: Asked) -> None:
    of = asked(db="postgresql", rows="2e8", made_by="client", existing="uuid-v4:100M")
    seen = screen(of)
    saved = r"that saves (\d+) % of what the next 100,000,000 rows write and read \(\d+ GB\)\."
    found = re.fullmatch(rf"Give new rows `uuid-v7` keys and leave the old ones: {saved}", seen.do)
    assert found
    assert int(found[1]) >= 10
    assert "What has to change: the programs that make keys. Old rows, foreign keys and programs" in seen.why
    assert seen.rows[seen.chosen][0] == "uuid-v7 for new rows"


def test_a_new_table_has_three_to_five_rows_to_compare_and_the_code(asked: Asked) -> None:
    seen = screen(asked(db="postgresql", rows="1e6"))
    assert 3 <= len(seen.rows) <= 5
    assert seen.rows[seen.chosen][0] == "bigint-identity"
    assert "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY" in seen.code[0].sql
    assert seen.second.startswith("Second choice: `uuid-v7` (")
    assert seen.when_not == "Not if tables of several sites will be merged."


def test_what_nobody_knows_has_no_column_and_no_reads_are_no_gain_over_none(asked: Asked) -> None:
    seen = screen(asked(db="mssql", rows="1e6"))
    assert seen.grid[0] == ["", "index", "reads a row", "use when"]
    assert [len(row) for row in seen.grid[1]] == [4] * len(seen.rows)
    assert "from disk" not in seen.why


@pytest.mark.once
@pytest.mark.parametrize("existing", ["", "uuid-v4:20M", "uuid-v4:2M:char36"])
def test_the_answer_has_25_lines_of_80_columns(asked: Asked, existing: str) -> None:
    file = io.StringIO()
    terminal.show(asked(db="postgresql", rows="4e7", made_by="client", existing=existing), Console(file=file, width=80))
    lines = file.getvalue().splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_an_integer_that_nobody_may_guess_gets_a_second_id(asked: Asked) -> None:
    of = asked(existing="snowflake:10000", unguessable=True)
    seen = screen(of)
    assert of.decision is None
    assert seen.do.endswith("Keep today's key, and add a random `public_id` beside it, which people outside see.")
    assert seen.rows[1][0] == "public_id (random)"


def test_the_page_has_all_of_the_answer_and_needs_no_script(of: Answer) -> None:
    assert of.existing is not None
    assert [one.name for one in of.options][:2] == ["stay", "switch"]
    text = document.page(of)
    assert "<script" not in text
    assert "<h1>At this size it does not matter. Leave it: " in text
    assert "<h2>Your 10,000 rows with <code>uuid-v4</code> keys</h2>" in text
    assert "Stay as it is" in text


def test_all_figures_are_exact_where_all_rows_were_simulated(of: Answer) -> None:
    content = json.loads(json.dumps(as_json.content(of), allow_nan=False))
    for one in content["layouts"]:
        assert one["leaf_pages"]["kind"] == "exact model"
        assert one["leaf_pages"]["low"] == one["leaf_pages"]["high"]
    assert content["recommended"] == "uuid-v7"


def test_needs_that_exclude_one_another(asked: Asked) -> None:
    said = raised(UsageError, asked, unguessable=True, type="integer")
    assert said.startswith(
        "no layout on SQLite 3 meets --type integer --unguessable at once: drop one: without --type "
    )
    assert "one: without --type integer, `" in said
    assert "; without --unguessable, `bigint-identity`" in said


def test_a_layout_whose_time_ends_is_told_with_the_reason(asked: Asked) -> None:
    (sentence,) = sentences.layouts_asked_for(asked(made_by="client", rows_per_second=1e-5, layout="snowflake"))
    assert sentence.startswith("`snowflake` is no choice: snowflake keys hold instants from 2010")


def test_keys_that_the_table_has_stay_where_they_are_as_good(asked: Asked) -> None:
    of = asked(made_by="client", existing="uuid-v6:10000")
    assert (of.best.name, of.options) == ("uuid-v6", [])
    assert sentences.headline(of).endswith(
        "Leave it: no key is clearly better than `uuid-v6` in a column of type BLOB."
    )


def test_keys_stored_as_text_can_be_stored_as_bytes(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", existing="uuid-v4:10000:char36")
    assert of.existing.candidate.label == "uuid-v4 · char36"
    ways = {one.name: one for one in of.options}
    assert list(ways) == ["stay", "switch", "switch-rebuild-now", "switch-rebuild-later", "retype", "convert"]
    assert ways["retype"].leaf_pages.value < ways["switch"].leaf_pages.value
    assert [row[0] for row in screen(of).rows][1:] == [
        "today's keys as BLOB, uuid-v7 for new rows",
        "uuid-v7 for new rows",
        "uuid-v7, later a rebuild",
    ]
    listed = steps(of, ways["retype"])
    assert any("insert each with its own key in the new type" in step.note for step in listed)
    assert not any("with a new key" in step.note for step in listed)


def test_a_cluster_is_answered_in_a_sentence(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", spread=True)
    assert of.best.name == "uuid-v7"
    assert screen(of).why.endswith(
        "On a cluster, these keys alone would all go to one server: put a hash of the key before it, modulo 16 or so. "
        "These figures are of one server; keybench has no adapter of clusters."
    )


def test_the_price_of_a_need_is_told(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", hides_time=True)
    assert sentences.headline(of).endswith("Use `uuid-v4` in a column of type BLOB.")
    assert re.fullmatch(
        r"`[a-z0-9-]+` would take \d+ % fewer bytes a row, but a key tells when .*\.", sentences.price_of_needs(of)
    )


def test_a_layout_that_is_named_is_spoken_of(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", layout="uuid-v7,uuid-v6,bigint-identity")
    assert [row[0] for row in screen(of).rows][:4] == ["uuid-v7", "uuid-v4", "uuid-v6", "bigint-identity"]
    assert sentences.layouts_asked_for(of) == [
        "`uuid-v6` in a column of type BLOB: as cheap, and it splits 0.0 pages for 1,000 rows; but "
        "somebody who knows one key can guess others.",
        "`bigint-identity` does not meet your needs: it is an integer; only a server can make it, because it counts "
        "rows.",
    ]


def test_counters_that_the_table_has_stay(asked: Asked) -> None:
    of = asked(existing="int-identity:10000")
    best = "no key is clearly better than `bigint-identity` in a column of type INTEGER."
    assert sentences.headline(of).endswith(best)


def test_existing_keys_that_end_before_the_table_does_are_told(asked: Asked) -> None:
    of = asked(existing="snowflake:10000", rows_per_second=1e-5)
    assert (of.best.layout.kind, of.existing, of.options) == ("int", None, [])
    first = sentences.headline(of)
    assert "Today's `snowflake` keys end before the table does: snowflake keys hold instants from 2010" in first
    assert ": set the clock inside that range. Use `" in first
    assert not screen(of).code


def test_an_int_column_ends_at_two_billion_rows(asked: Asked) -> None:
    of = asked(db="postgresql", rows="2147483648", existing="int-identity:1500M:int")
    assert (of.best.label, of.existing) == ("bigint-identity", None)
    assert sentences.headline(of).startswith(
        "Today's `int-identity` keys end before the table does: the greatest of them is 2,147,483,647. Use "
        "`bigint-identity` in a column of type bigint, "
    )


def test_keys_made_by_clients_have_no_default_in_the_answer(asked: Asked) -> None:
    def told(made_by: str) -> str:
        return document.page(asked(db="postgresql", rows="1000", made_by=made_by, type="uuid"))

    assert "DEFAULT uuidv7()" not in told("client")
    assert "DEFAULT uuidv7()" in told("server")


def test_deleted_rows_are_not_in_the_figures(asked: Asked) -> None:
    of = asked(db="postgresql", made_by="client", retention=400)
    assert sentences.more(of)[0] == (
        "Rows that are deleted are not in these figures: `keybench run --db postgresql --scenario retention` measures "
        "what deletions leave."
    )
    assert screen(of).why.endswith("The primary key has to contain the partition's column, too.")


def test_existing_keys_are_in_the_column_that_the_version_has() -> None:
    def today(existing: str) -> str:
        asked = needs({**USUAL, "db": "mariadb:10.6", "rows": "20000", "existing": existing})
        found = _today(candidates(asked, {"uuid-v7"}.__contains__), asked.existing)
        return found.label

    assert today("uuid-v4:10000") == "uuid-v4 · binary16"
    assert today("uuid-v4:10000:char36") == "uuid-v4 · char36"


def test_a_new_unguessable_table_of_sql_server_may_have_a_counter_inside(asked: Asked) -> None:
    of = asked(db="mssql", unguessable=True, hides_time=True)
    seen = screen(of)
    assert seen.rows[seen.chosen][0] == "uuid-v4"
    assert (seen.rows[-1][0], seen.rows[-1][-1]) == ("bigint-identity, public_id outside", "many tables refer to it")
    (table,) = of.with_public_id
    assert "CONSTRAINT [orders_public_id] UNIQUE NONCLUSTERED" in table.sql
    assert "PRIMARY KEY CLUSTERED (id)" in table.sql
    assert json.loads(json.dumps(as_json.content(of)))["with_public_id"][0]["sql"] == table.sql
    assert not asked(db="mssql", unguessable=True, merge=True).with_public_id
    assert not asked(unguessable=True).with_public_id


def test_layouts_whose_order_the_column_undoes_are_for_all_and_for_whoever_names_them() -> None:
    def shown(*, foreign: bool, **given: str) -> set[str]:
        of = answer(needs({**USUAL, "db": "sqlite", "rows": "20000", **given}), foreign=foreign)
        return {one.candidate.name for one in (*of.ranking.meeting, *of.ranking.missing)}

    assert "masstransit-newid" not in shown(foreign=False)
    assert "masstransit-newid" in shown(foreign=True)
    assert "masstransit-newid" in shown(foreign=False, layout="masstransit-newid")


def test_a_database_with_one_type_for_all_integers_has_no_keys_that_end_at_32_bits() -> None:
    existing = {on: needs({**USUAL, "db": on, "rows": "4e9", "existing": "int-identity:2B"}).existing for on in ENGINES}
    assert {on: keys.layout for on, keys in existing.items() if keys} == ENGINES


def test_only_databases_that_ask_for_it_are_told_of_the_key_of_partitions(asked: Asked) -> None:
    assert sentences.partitions(asked(retention=30)).endswith("to delete their rows.")
    assert sentences.partitions(asked(db="mariadb", retention=30)).endswith("the partition's column, too.")
