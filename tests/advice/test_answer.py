"""Whole answers, of tables so small that all rows are simulated."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from keybench.advice.answer import Answer, answer
from keybench.advice.form import USUAL
from keybench.advice.needs import needs
from keybench.advice.output import as_json, markdown, page
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
    text = markdown.markdown(of)
    assert text.startswith("# Use `uuid-v7` in a column of type BLOB.\n\nAt 20,000 rows its index takes ")
    assert "- Second choice: `snowflake`. It moves " in text
    assert "choose it if each writer can be given a number of its own." in text
    assert "- bigint-identity: only a server can make it, because it counts rows" in text


def test_an_existing_table_has_its_ways(of: Answer) -> None:
    assert of.existing is not None
    assert [one.name for one in of.options][:2] == ["stay", "switch"]
    text = markdown.markdown(of)
    assert "## Your 10,000 rows with `uuid-v4` keys" in text
    assert "Stay as it is" in text


def test_the_page_needs_no_script_and_has_three_pictures(of: Answer) -> None:
    text = page.page(of)
    assert "<script" not in text
    assert text.count("<figure>") == 3
    assert "Use <code>uuid-v7</code> in a column of type BLOB." in text


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
    assert f"- {label}: snowflake keys hold" in markdown.markdown(of)
