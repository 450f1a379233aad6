"""Whole answers, of tables so small that all rows are simulated."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from keybench.advice import sentences
from keybench.advice.answer import Answer, _today, answer
from keybench.advice.candidates import candidates
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
    headline, reason, *rest = first_screen(of)
    assert headline == "Give new rows `uuid-v7` keys, and rebuild the table afterwards."
    assert re.match(r"Rebuilt after the .*; until then an insert writes [\d,]+ bytes of log instead of [\d,]+,", reason)
    text = "\n".join(rest)
    assert "What `uuid-v7` is: 48-bit Unix milliseconds, then 74 random bits, no counter. A key tells when" in text
    assert "Second choice: `snowflake`. It takes " in text
    assert "choose it if each writer can be given a number of its own." in text


def test_the_page_has_all_of_the_answer_and_needs_no_script(of: Answer) -> None:
    assert of.existing is not None
    assert [one.name for one in of.options][:2] == ["stay", "switch"]
    text = document.page(of)
    assert "<script" not in text
    assert "<h1>Give new rows <code>uuid-v7</code> keys, and " in text
    assert "<h2>Your 10,000 rows with <code>uuid-v4</code> keys</h2>" in text
    assert "Stay as it is" in text


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
    (sentence,) = sentences.layouts_asked_for(asked(made_by="client", rows_per_second=1e-5, layout="snowflake"))
    assert sentence.startswith("`snowflake` is no choice: snowflake keys hold instants from 2010")


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
    assert sentences.other_sentences(of)[0] == (
        "On a cluster, a random or hashed prefix before the key, such as its hash modulo 16, spreads inserts over all "
        "ranges; keybench has no adapter of clusters, and these figures are of one server."
    )


def test_the_price_of_a_need_is_told(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", hides_time=True)
    assert sentences.headline(of) == "Use `uuid-v4` in a column of type BLOB."
    assert re.fullmatch(
        r"`[a-z0-9-]+` would take \d+ % fewer bytes a row, but a key tells when .*\.", sentences.price_of_needs(of)
    )


def test_a_layout_that_is_named_is_spoken_of(asked: Asked) -> None:
    of = asked(made_by="client", type="uuid", layout="uuid-v6,bigint-identity")
    assert sentences.layouts_asked_for(of) == [
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
    first, *_ = sentences.other_sentences(of)
    assert first.startswith(
        "Today's `snowflake` keys end before the table does: snowflake keys hold instants from 2010"
    )
    assert first.endswith(": set the clock inside that range. There are no figures for keeping them.")


def test_keys_made_by_clients_have_no_default_in_the_answer(asked: Asked) -> None:
    def told(made_by: str) -> str:
        return document.page(asked(db="postgresql", rows="1000", made_by=made_by, type="uuid"))

    assert "DEFAULT uuidv7()" not in told("client")
    assert "DEFAULT uuidv7()" in told("server")


def test_deleted_rows_are_not_in_the_figures(asked: Asked) -> None:
    of = asked(db="postgresql", made_by="client", retention=400)
    assert sentences.other_sentences(of)[0] == (
        "Rows that are deleted are not in these figures: `keybench run --db postgresql --scenario retention` measures "
        "what deletions leave."
    )


def test_existing_keys_are_in_the_column_that_the_version_has() -> None:
    def today(existing: str) -> str:
        asked = needs({**USUAL, "db": "mariadb:10.6", "rows": "20000", "existing": existing})
        found = _today(candidates(asked, {"uuid-v7"}.__contains__), asked.existing)
        assert found is not None
        return found.label

    assert today("uuid-v4:10000") == "uuid-v4 · binary16"
    assert today("uuid-v4:10000:char36") == "uuid-v4 · char36"
