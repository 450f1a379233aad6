"""In which columns layouts ascend: as they declare, and as is known of the originals."""

from __future__ import annotations

import pytest

from keybench.generators.commands.ascent import Ascends, ascents
from keybench.generators.commands.columns import ORDERS
from keybench.generators.core.layout import layout, layouts

NAMES = sorted({known.name for known in layouts().values()})
FOUND = {"always": "strictly", "forward": "strictly", "by time": "by time", "by block": "by time", "no": "no"}


@pytest.mark.parametrize("name", [name for name in NAMES if layout(name).order != "none"])
def test_a_layout_ascends_in_its_own_order_as_declared(name) -> None:
    description = layout(name).description
    assert ascents(layout(name))[layout(name).order] == Ascends(FOUND[description.within], description.across != "no")


@pytest.mark.parametrize("name", [name for name in NAMES if layout(name).order == "none"])
def test_a_layout_without_an_order_ascends_in_none(name) -> None:
    assert {found.within for found in ascents(layout(name)).values()} <= {"no", "refused"}


@pytest.mark.parametrize("name", NAMES)
def test_guids_are_tried_in_every_order_and_other_keys_in_one(name) -> None:
    assert tuple(ascents(layout(name))) == (ORDERS if layout(name).kind == "uuid" else ("rfc",))


@pytest.mark.parametrize(
    ("name", "signs"),
    [
        # From the table of simulated index locality: one process and four.
        ("rt-comb-sql", "no no time+ no time+"),
        ("rt-comb-postgresql", "time+ no no no no"),
        ("jhtodd-string", "time+ no no no refused"),
        ("jhtodd-end", "no no time+ no refused"),
        ("efcore-sequential", "no no strictly no no"),
        ("morris", "no no strictly no refused"),
        ("hotguid", "strictly+ no strictly strictly refused"),
        ("uuid-v4", "no no no no no"),
        ("uuid-v7", "time+ no no no time+"),
    ],
)
def test_columns_of_known_layouts(name, signs) -> None:
    found = ascents(layout(name))
    words = [found[order].within.removeprefix("by ") + "+" * found[order].across for order in ORDERS]
    assert words == signs.split()
