"""What becomes of a table that exists."""

import pytest

from keybench.advice.figure import Figure
from keybench.advice.how_to import existing, past
from keybench.advice.how_to.existing import Option, options
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Server
from tests.errors import raised


def asked(
    database: str, old: str, there: int, new: str, come: int, payload: int = 100, cache: int = 1 << 30
) -> dict[str, Option]:
    on = engine(database)
    column = on.column("uuid") if database == "postgresql" else on.default_column("uuid")
    listed = options(
        on,
        Table("t", column, payload),
        old,
        there,
        new,
        come,
        rows_per_second=100.0,
        new_column=column if layout(new).kind == "uuid" else on.default_column("int"),
        server=Server(cache_bytes=cache),
        switched=new if layout(new).kind == "uuid" else "",
    )
    return {option.name: option for option in listed}


def test_small_tables_are_simulated_row_by_row() -> None:
    ways = asked("postgresql", "uuid-v4", 6_000, "uuid-v7", 2_000)
    assert list(ways) == ["stay", "switch", "switch-rebuild-now", "switch-rebuild-later", "convert"]
    assert {option.leaf_pages.kind for option in ways.values()} == {"exact model"}
    assert ways["convert"].leaf_pages.value == 31  # 8,000 rows, 28 bytes each, on leaves of 8,152 bytes filled to 90 %
    assert ways["convert"].splits.value < 1  # rows of one millisecond
    assert ways["switch-rebuild-later"].leaf_pages.value <= ways["switch"].leaf_pages.value
    assert ways["switch"].built_pages is None
    assert ways["switch-rebuild-now"].built_pages is not None
    assert ways["switch-rebuild-now"].before.value < ways["switch"].before.value


def test_integers_come_by_conversion_alone() -> None:
    ways = asked("postgresql", "uuid-v4", 1_000, "bigint-identity", 1_000)
    assert list(ways) == ["stay", "convert"]


def test_a_large_table_is_said_to_be_scaled() -> None:
    ways = asked("postgresql", "uuid-v4", 40_000_000, "uuid-v7", 10_000_000)
    stay, switch = ways["stay"], ways["switch"]
    assert stay.leaf_pages.kind == "scaled"
    assert stay.before.low < 40_000_000 / (291 * 0.6931) < stay.before.high
    assert switch.leaf_pages.value > 1.02 * stay.leaf_pages.value  # new keys split in halves, and fill no free place
    assert ways["convert"].density.value > 89


@pytest.mark.parametrize(("there", "come"), [(0, 1), (1, 0)])
def test_a_table_without_rows_is_refused(there: int, come: int) -> None:
    said = raised(UsageError, asked, "postgresql", "uuid-v4", there, "uuid-v7", come)
    assert said == "an existing table needs at least one row, and one that comes: give both numbers."


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_log_of_a_row_needs_a_model_that_knows_it_and_enough_memory() -> None:
    def logged(database: str, cache: int) -> list[float | None]:
        ways = asked(database, "uuid-v4", 9_000, "uuid-v7", 1_000, 0, cache).values()
        return [option.log_bytes and option.log_bytes.value for option in ways]

    stay, switch, now, later, convert = logged("postgresql", 64 << 20)
    assert switch is not None
    assert later == switch
    assert 100 < convert <= now < stay
    assert logged("postgresql", 8192 * 99) == [None] * 5
    assert logged("mysql", 64 << 20) == [None] * 5


@pytest.mark.long
@pytest.mark.parametrize("database", ["postgresql", "mariadb", "sqlite"])
def test_the_log_of_a_row_holds_at_four_times_the_size(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def logged() -> list[Figure]:
        ways = asked(database, "uuid-v4", 3 << 15, "uuid-v7", 1 << 15, cache=32 << 20).values()
        return [option.log_bytes for option in ways if option.log_bytes]

    scaled = logged()
    monkeypatch.setattr(past, "LEAST_LOG_ROWS", 1 << 17)
    full = logged()
    assert len(full) == len(scaled) == 5
    assert [each.kind for each in full] == ["unconfirmed model" if engine(database).caveat else "exact model"] * 5
    assert [
        (one, value.value) for one, value in zip(scaled, full, strict=True) if not one.low <= value.value <= one.high
    ] == []


@pytest.mark.long
@pytest.mark.parametrize("database", [name for name, on in engines().items() if on.has_page_model])
@pytest.mark.parametrize("pair", ["random to ordered", "ordered to random"])
def test_scaled_figures_hold_at_four_times_the_size(database: str, pair: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows through the model, with other keys: each figure lies in the interval of the scaled one."""
    ordered = "buvinghausen-v7-sql" if database == "mssql" else "uuid-v7"
    old, new = ("uuid-v4", ordered) if pair == "random to ordered" else (ordered, "uuid-v4")
    there, come = 3 << 19, 1 << 19
    scaled = asked(database, old, there, new, come)
    monkeypatch.setattr(existing, "MOST_ROWS", there + come)
    monkeypatch.setattr(existing, "FIRST_DRAW", 77)
    full = asked(database, old, there, new, come)
    missed = [
        (name, figure, one, value)
        for name, option in scaled.items()
        for figure in ("leaf_pages", "density", "splits", "built_pages", "before")
        if (one := getattr(option, figure)) and not one.low <= (value := getattr(full[name], figure).value) <= one.high
    ]
    assert missed == []
    assert {option.density.kind for option in full.values()} <= {"exact model", "unconfirmed model"}
