"""Whole answers, of tables so small that all rows are simulated."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from keybench.advice import outlook, sentences
from keybench.advice.answer import Answer, _today, answer
from keybench.advice.candidates import candidates
from keybench.advice.how_to.past import DeletionEffect
from keybench.advice.needs import USUAL, needs
from keybench.advice.output import as_json, document, table
from keybench.advice.sentences import first_screen
from keybench.errors import UsageError

Asked = Callable[..., Answer]


@pytest.fixture(scope="module")
def asked() -> Asked:
    def ask(**given: Any) -> Answer:
        return answer(needs({**USUAL, "db": "sqlite", "rows": "20000", **given}))

    return ask


@pytest.fixture(scope="module")
def of(asked: Asked) -> Answer:
    return asked(made_by="client", existing="uuid-v4:10000")


def test_it_says_what_to_do_and_why(of: Answer) -> None:
    text = document.markdown(of)
    assert text.startswith("# Give new rows `uuid-v7` keys, and rebuild the table afterwards.\n\nRebuilt after the ")
    assert re.search(
        r"; until then an insert writes ([\d,]+) bytes of log \(the .*\) instead of ([\d,]+), because", text
    )
    assert "- What `uuid-v7` is: 48-bit Unix milliseconds, then 74 random bits, no counter. A key tells when" in text
    assert "- Second choice: `snowflake`. It takes " in text
    assert "choose it if each writer can be given a number of its own." in text
    assert "- bigint-identity: only a server can make it, because it counts rows" in text


def test_an_existing_table_has_its_ways(of: Answer) -> None:
    assert of.existing is not None
    assert [one.name for one in of.options][:2] == ["stay", "switch"]
    text = document.markdown(of)
    assert "## Your 10,000 rows with `uuid-v4` keys" in text
    assert "Stay as it is" in text


def test_the_page_needs_no_script_and_has_three_pictures(of: Answer) -> None:
    text = document.page(of)
    assert "<script" not in text
    assert text.count("<figure>") == 3
    assert "<h1>Give new rows <code>uuid-v7</code> keys, and " in text


def test_all_figures_are_exact_where_all_rows_were_simulated(of: Answer) -> None:
    content = json.loads(json.dumps(as_json.content(of), allow_nan=False))
    for one in content["layouts"]:
        assert one["leaf_pages"]["kind"] == "exact model"
        assert one["leaf_pages"]["low"] == one["leaf_pages"]["high"]
    assert content["recommended"] == "uuid-v7"


def test_needs_that_exclude_one_another(asked: Asked) -> None:
    with pytest.raises(UsageError) as error:
        asked(unguessable=True, type="integer")
    assert str(error.value).startswith(
        "no layout on SQLite 3 meets --type integer --unguessable at once: drop one: without --type integer, `"
    )
    assert "; without --unguessable, `bigint-identity`" in str(error.value)


def test_a_layout_whose_time_ends_is_told_with_the_reason(asked: Asked) -> None:
    of = asked(made_by="client", rows_per_second=1e-5)
    ((label, why),) = [one for one in of.refused if one[0] == "snowflake"]
    assert "snowflake keys hold instants from 2010" in why
    assert f"- {label}: snowflake keys hold" in document.markdown(of)


def test_keys_that_the_table_has_stay_where_they_are_as_good(asked: Asked) -> None:
    of = asked(made_by="client", existing="uuid-v6:10000")
    assert (of.best.name, of.options) == ("uuid-v6", [])
    assert sentences.headline(of) == "Keep `uuid-v6` in a column of type BLOB."


def test_keys_stored_as_text_can_be_stored_as_bytes(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", existing="uuid-v4:10000:char36")
    assert of.existing is not None
    assert of.existing.candidate.label == "uuid-v4 · char36"
    assert sentences.headline(of) == "Use `uuid-v7` in a column of type BLOB."
    ways = {one.name: one for one in of.options}
    assert list(ways) == ["stay", "switch", "switch-rebuild-now", "switch-rebuild-later", "retype", "convert"]
    assert ways["retype"].leaf_pages.value < ways["switch"].leaf_pages.value
    assert sentences.reason(of).startswith("After 10,000 more rows the table takes ")
    steps = table.steps(of, ways["retype"])
    assert any(step.note.startswith("Give every old row its own key again, in the new type") for step in steps)
    assert not any("with a new key" in step.note for step in steps)


def test_a_cluster_is_answered_in_a_sentence(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", spread=True)
    assert of.best.name == "uuid-v7"
    assert sentences.rest(of)[0] == (
        "On a cluster, a random or hashed prefix before the key, such as its hash modulo 16, spreads inserts over all "
        "ranges; keybench has no adapter of clusters, and these figures are of one server."
    )


def test_the_price_of_a_need_is_told(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", hides_time=True)
    assert sentences.headline(of) == "Use `uuid-v4` in a column of type BLOB."
    assert re.fullmatch(
        r"`[a-z0-9-]+` would take \d+ % fewer bytes a row, but a key tells when .*\.", sentences.price(of)
    )


def test_a_layout_that_is_named_is_spoken_of(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", layout="uuid-v6,bigint-identity")
    assert sentences.named(of) == [
        "`uuid-v6` in a column of type BLOB: it costs as little, and splits 0.0 pages for 1,000 rows; but "
        "somebody who knows one key can guess others.",
        "`bigint-identity` does not meet your needs: it is an integer; only a server can make it, because it counts "
        "rows.",
    ]


def test_counters_that_the_table_has_stay(asked: Asked) -> None:
    of = asked(existing="int-identity:10000")
    assert sentences.headline(of) == "Keep `int-identity` in a column of type INTEGER."


def test_existing_keys_that_end_before_the_table_does_are_told(asked: Asked) -> None:
    of = asked(existing="snowflake:10000", rows_per_second=1e-5)
    assert (of.best.name, of.existing, of.options) == ("bigint-identity", None, [])
    first, *_ = sentences.rest(of)
    assert first.startswith(
        "Today's `snowflake` keys end before the table does: snowflake keys hold instants from 2010"
    )
    assert first.endswith(": set the clock inside that range. There are no figures for keeping them.")


@pytest.mark.parametrize(
    ("a_second", "told"),
    [
        (1200, "1,200 new ones a second"),
        (3.17, "3.2 new ones a second"),
        (0.5, "30 new ones a minute"),
        (0.0004, "1.4 new ones an hour"),
        (3.2e-5, "2.8 new ones a day"),
        (6.4e-8, "2 new ones a year"),
    ],
)
def test_a_rate_is_written_as_people_do(of: Answer, a_second: float, told: str) -> None:
    slow = replace(of, needs=replace(of.needs, rows_per_second=a_second))
    assert sentences.asked(slow) == (
        f"SQLite 3, 20,000 rows, 10,000 of them there today with `uuid-v4` keys, {told}. Keys have to be made by the "
        "client."
    )


def test_the_answer_says_what_deletions_leave(asked: Asked) -> None:
    of = asked(db="postgresql", made_by="client", retention=400)
    assert of.deletions is not None
    best, other = (of.deletions[name] for name in ("uuid-v7", "uuid-v4"))
    assert best is not None
    assert other is not None
    assert -2 < best.least == best.most < 2
    assert 3 < other.least == other.most < 40
    assert sentences.rest(of)[0] == (
        "Rows that are deleted are not in these figures. As new rows take the place of the oldest, the index of "
        "`uuid-v7` keys keeps its size, because whole pages get empty and are used again; that of `uuid-v4` keys grows "
        f"by {other.least:.0f} %, because deletions leave holes in all pages. This is from a page model of 20,000 "
        "rows, after one and a half times as many came and went."
    )
    assert json.loads(json.dumps(as_json.content(of), allow_nan=False))["also"] == sentences.rest(of)
    assert sentences.asked(of) == (
        "PostgreSQL 18, 20,000 rows, 2.3 new ones an hour, deleted after 400 days. Keys have to be made by the client."
    )
    assert sentences.rest(replace(of, deletions={}))[0] == (
        "Rows that are deleted are not in these figures. The page model of PostgreSQL does not know what deletions "
        "leave."
    )


@pytest.mark.parametrize(
    ("least", "most", "told"),
    [
        (7.2, 30.6, "grows by 7 to 31 %"),
        (9.6, 10.4, "grows by 10 %"),
        (-1, 2, "keeps its size"),
        (-4.4, -1.6, "shrinks by 2 to 4 %"),
        (-6, 4, "stays within 6 % of its size"),
        (0.2, 12, "grows by 0 to 12 %"),
    ],
)
def test_how_an_index_changes(of: Answer, least: float, most: float, told: str) -> None:
    said = outlook.deletions(replace(of, deletions={of.best.label: DeletionEffect(least, most, 20_000)}))
    assert f"the table of `uuid-v7` keys {told}" in said


def test_terms_are_explained_once_on_the_first_screen(of: Answer) -> None:
    first = " ".join(first_screen(of))
    for note in (
        "the database's record of changes, for recovery after a crash",
        "blocks of a few KB that SQLite reads and writes at once",
        "a program that fills an index by the rules of the database",
    ):
        assert first.count(note) == 1
    text = document.page(of)
    assert text.count("reads and writes at once") == 1
    assert "A key that belongs in the middle of a full page splits it" in text


def test_keys_made_by_clients_have_no_default_in_the_answer(asked: Asked) -> None:
    def told(made_by: str) -> str:
        return document.markdown(asked(db="postgresql", rows="1000", made_by=made_by, type="uuid"))

    assert "DEFAULT uuidv7()" not in told("client")
    assert "DEFAULT uuidv7()" in told("server")


def test_existing_keys_are_in_the_column_that_the_version_has() -> None:
    def today(existing: str) -> str:
        asked = needs({**USUAL, "db": "mariadb:10.6", "rows": "20000", "existing": existing})
        found = _today(candidates(asked, {"uuid-v7"}.__contains__), asked.existing)
        assert found is not None
        return found.label

    assert today("uuid-v4:10000") == "uuid-v4 · binary16"
    assert today("uuid-v4:10000:char36") == "uuid-v4 · char36"
