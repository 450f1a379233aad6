"""`keybench forecast` answers without a server, and says what it cannot answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from keybench.advice.forecast import command, load_cost
from keybench.advice.forecast.load_cost import Estimate, RowCost
from keybench.advice.forecast.prices import Prices
from keybench.errors import UsageError

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def of(*options: str) -> str:
        done = CliRunner().invoke(command.app, options, catch_exceptions=False, standalone_mode=False)
        return done.stdout

    return of


def test_random_keys_are_read_from_the_knee_on_and_ordered_ones_never(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keybench.toml").write_text('[price]\nmillion_reads = 2\ncurrency = "EUR"\n')
    out = json.loads(run("--rows", "400000", "--ram", "4MB", "--json", "--curve"))
    assert (out["origin"], out["rows"], out["cache_bytes"]) == ("modelled", 400_000, 4 << 20)
    by_layout = {one["layout"]: one for one in out["tables"]}
    random, ordered = by_layout["uuid-v4"], by_layout["uuid-v7"]
    assert random["share_simulated"] == 1
    read = random["a_row_at_the_end"]["pages_read"]
    assert 0.6 < read["value"] < 0.9
    assert read["error"] == 0
    assert 80_000 < random["reads_pass"]["0.05"] < random["reads_pass"]["0.5"] < 300_000
    assert random["price"]["million_rows"] >= 2 * read["value"]
    assert [one["cache_bytes"] for one in random["by_cache"]] == sorted(
        (one["cache_bytes"] for one in random["by_cache"]), reverse=True
    )
    assert 1.5 < random["look_ups"]["any_row"] < 1.9, "often the leaf, nearly always the page of the heap"
    assert ordered["look_ups"]["newest"] < 0.01 < random["look_ups"]["newest"]
    assert ordered["look_ups"]["window"] < 0.05 < random["look_ups"]["window"]
    assert ordered["reads_pass"] == {"0.05": None, "0.5": None}
    assert ordered["a_row_at_the_end"]["pages_read"]["value"] < 0.001


def test_the_text_says_that_it_is_modelled_and_where_nothing_is_read(run: Run) -> None:
    out = " ".join(run("--rows", "20000", "--ram", "1GB", "--layout", "uuid-v4").split())
    assert "PostgreSQL, 20,000 rows, a cache of 1 GB: An index four times the server's page cache" in out
    assert "Inserts read nothing for bigint-identity, uuid-v4: the pages in use stay in the cache." in out
    assert "Modelled, on all rows" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rows", "many"), "--rows 'many' is no number of rows from 1,000: write it as 1e9 or 50_000_000."),
        (("--rows", "1e20"), "--rows '1e20' is no number of rows from 1,000: write it as 1e9 or 50_000_000."),
        (("--ram", "lots"), "--ram 'lots' is no size: write it as 512MB or 64GB."),
        (
            ("--ram", "100KB", "--rows", "5000"),
            "a cache of 102,400 bytes has fewer than 100 pages: give it more memory.",
        ),
        (
            ("--db", "sqlite", "--layout", "bigint-identity", "--rows", "5000"),
            "Without bigint-identity on SQLite: a forecast knows entries of one size, and those of bigint-identity on "
            "SQLite have several.",
        ),
        (("--db", ""), "--db names no database: name one, such as postgresql."),
        (("--payload", "0-200"), "a forecast knows rows of one length: give --payload as one number, such as 100."),
        (("--scenario", "generation"), "scenario generation only makes keys, without a table: choose another."),
        (
            ("--scenario", "retention", "--rows", "5000"),
            "scenario retention cannot be forecast at 5,000 rows, because its table has a past: choose fewer rows, or "
            "another scenario.",
        ),
    ],
)
def test_what_cannot_be_forecast(run: Run, options: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        run(*options)
    assert str(refused.value) == message


def test_a_cache_that_a_sample_cannot_tell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_cost, "MOST_SIMULATED", 20_000)
    with pytest.raises(UsageError) as refused:
        run("--rows", "160000", "--ram", "2MB", "--layout", "uuid-v4")
    assert str(refused.value) == (
        "a cache of 2 MB cannot be told from one in 16 rows: give fewer --rows, or --ram of 12.5 MB or more."
    )


def test_prices_that_are_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keybench.toml").write_text("[price]\ngb_log = -1\n")
    with pytest.raises(UsageError) as refused:
        run("--rows", "5000")
    assert str(refused.value) == "keybench.toml: [price] gb_log is -1: give a number of 0 or more."
    (tmp_path / "keybench.toml").write_text("[price]\nmillion_rads = 1\n")
    with pytest.raises(UsageError) as refused:
        run("--rows", "5000")
    assert "unknown option of [price] in keybench.toml 'million_rads'. Did you mean" in str(refused.value)


def test_prices_add_up() -> None:
    flat = Estimate(np.array([1.0, 2.0]), np.zeros(2))
    cost = RowCost(np.array([500, 1000]), flat, flat, Estimate(np.array([0.0, 1 << 10]), np.zeros(2)), None)
    prices = Prices(million_reads=3, million_writes=5, gb_log=7, gb_month=11)
    assert prices.of_million_rows(cost) == pytest.approx(2 * 3 + 2 * 5 + 7 * 1e6 / (1 << 20))
    assert prices.of_month(2 << 30) == 22


def test_the_knee_is_where_reads_stay_above() -> None:
    ends, none = np.array([10, 20, 30, 40, 50]), np.zeros(5)

    def knee(*reads: float) -> float | None:
        estimate = Estimate(np.array(reads), none)
        return RowCost(ends, estimate, None, None, None).knee(0.5)

    assert knee(0, 0, 0, 1, 1) == 30
    assert knee(0, 1, 0, 0.75, 1) == pytest.approx(25 + 10 * 2 / 3)
    assert knee(1, 1, 1, 1, 1) == 5
    assert knee(1, 1, 1, 1, 0) is None


@pytest.mark.long
def test_two_samples_of_many_rows_come_close_to_all_of_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = []
    for most in (500_000, 4_000_000):
        monkeypatch.setattr(load_cost, "MOST_SIMULATED", most)
        out = json.loads(run("--rows", "4e6", "--ram", "48MB", "--json", "--layout", "uuid-v4"))
        figures.append(next(one for one in out["tables"] if one["layout"] == "uuid-v4"))
    sampled, whole = figures
    assert sampled["share_simulated"] < 0.2
    assert whole["share_simulated"] == 1
    for knee in ("0.05", "0.5"):
        assert sampled["reads_pass"][knee] == pytest.approx(whole["reads_pass"][knee], rel=0.06)
    read = [one["a_row_at_the_end"]["pages_read"]["value"] for one in figures]
    assert read[0] == pytest.approx(read[1], rel=0.03)
