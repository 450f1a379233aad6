"""Compares what `inspect --next` says of the next rows with the live index when they have come."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pytest

from keybench.advice.inspection import forecast
from keybench.advice.inspection.findings import look
from keybench.databases.contract.existing import Inspector
from keybench.model.column import Column, EncodedKeys
from tests.advice.inspection.planted import NOW

ROWS, NEXT = 6_000, 4_000


def sent(keys: EncodedKeys, column: Column) -> list[Any]:
    """Keys as drivers take them, from what the column stores."""
    if keys.ndim == 1:
        return keys.tolist()
    return [row.tobytes().decode() if column.form == "text" else row.tobytes() for row in keys]


def assert_as_forecast(
    opened: Callable[[], Inspector],
    table: str,
    name: str,
    rebuild: Callable[[], None] | None,
    insert: Callable[[Sequence[Any]], None],
) -> None:
    """Forecasts the next rows with keys of layout `name`, inserts them, and compares the index page by page."""
    with closing(opened()) as inspector:
        asked = forecast.ask(look(inspector, table, NOW, 60), inspector, lambda *_: None)
        keys = forecast.next_keys(asked, name, NEXT, NOW)
        said = forecast.next_index(asked.there, name, keys, rebuilt=rebuild is not None)
    if rebuild:
        rebuild()
    insert(sent(keys, asked.column))
    with closing(opened()) as inspector:
        now = forecast.ask(look(inspector, table, NOW, 60), inspector, lambda *_: None)
        leaves = now.there.pages.levels[0]
        pages = now.finding.pages
    assert leaves.entries.tolist() == said.after.page_rows.tolist()
    if pages.origin == "measured":  # on MariaDB and MySQL it is estimated from statistics
        assert pages.density == pytest.approx(said.after.density, abs=0.01)
    assert said.before.leaf_pages + said.splits + said.after.appends - said.before.appends == len(leaves.entries)
