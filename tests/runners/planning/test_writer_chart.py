"""Writers drawn as text."""

import pytest

from keybench.runners.planning.writer_chart import lines, span
from keybench.scenarios.files import load_scenario, parse_scenario, scenario_names
from keybench.scenarios.schema import Scenario

HEAD = 'title = "t"\nrows = 3000\nstart = 2026-01-01T00:00:00Z\n'


def scenario(text: str) -> Scenario:
    return parse_scenario("mine", HEAD + text, where="mine.toml")


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_is_drawn_in_100_columns(name: str) -> None:
    work = load_scenario(name)
    for line in (shown := lines(work, work.rows or 1_000_000)):
        assert len(line) <= 100, line
    assert [line.split()[0] for line in shown[1 : 1 + len(work.writer)]] == [writer.id for writer in work.writer]
    for line, writer in zip(shown[1:], work.writer, strict=False):
        assert line.count("#") + line.count("R") > 0, writer


def test_each_time_has_its_sign() -> None:
    text = (
        "[[writer]]\nid = 'a'\nrate = 10\nbusy = [[0, 100], [150, 200]]\nstop = 200\nrestarts = [50]\n"
        "[[writer]]\nid = 'a-writer-with-a-very-long-name'\nrate = 15\nstart = 100\n"
        "clock = { offset = -90, drift = -2, tick = 0.015625, step = [[5, 1], [6, -1], [7, 3]] }\n"
        "[deal]\nmode = 'sticky'\n[before]\nlayout = 'uuid-v4'\nshare = 0.5\n"
    )
    shown = lines(scenario(text), 6000)
    axis, first, second, cuts = shown[:4]
    assert axis.split() == ["0", "s", "50", "s", "100", "s", "150", "s", "200", "s"]
    half = first.index("-") - first.index("#")
    assert first.split()[1] == "20/s"
    assert second.startswith("a-writer-with-a-v…      30/s  ")
    assert second.index("#") - first.index("#") == pytest.approx(half, abs=1)
    assert first.count("R") == 1
    assert first.index("R") - first.index("#") == pytest.approx(half / 2, abs=1)
    assert cuts.count("|") == 3
    assert max(map(len, shown)) == 100
    assert shown[5:] == [
        "dealt out: sessions of 100 rows, each to a busy writer drawn at random, by rate",
        "clock of a-writer-with-a-v…: 90 s behind, loses 2 µs a second, ticks every 15.625 ms, steps +1 s at…",
        "keys of rows 1 … 3,000: uuid-v4, then the measured layout",
    ]


def test_servers_that_make_keys_are_named() -> None:
    text = "[server]\nrestarts = [20, 30]\nhosts = 3\n[[writer]]\nid = 'a'\nrate = 10\nserver = 2\n"
    text += "[[writer]]\nid = 'b'\nrate = 10\n"
    assert lines(scenario(text), 3000)[-2:] == [
        "servers that make keys restart at 20 s, 30 s, on 3 machines in turn",
        "servers that make keys: 0 (b), 2 (a)",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (0.05, "0.05 s"), (599, "599 s"), (600, "10 min"), (3600, "1 h"), (9000, "2 h 30 min")],
)
def test_lengths_of_time(seconds: float, said: str) -> None:
    assert span(seconds) == said
