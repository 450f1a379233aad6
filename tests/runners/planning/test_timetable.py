"""What writers do and when, in words."""

import pytest

from keybench.runners.planning.timetable import lines, span
from keybench.scenarios.files import load_scenario, parse_scenario, scenario_names
from keybench.scenarios.schema import Scenario

HEAD = 'title = "t"\nrows = 3000\nstart = 2026-01-01T00:00:00Z\n'


def scenario(text: str) -> Scenario:
    return parse_scenario("mine", HEAD + text, where="mine.toml")


@pytest.mark.parametrize("name", scenario_names())
def test_every_writer_of_every_scenario_has_a_line(name: str) -> None:
    work = load_scenario(name)
    told = lines(work, work.rows or 1_000_000)
    for line, writer in zip(told, work.writer, strict=False):
        assert line.startswith(f"{writer.id}: ")
        assert f"; runs {span(writer.start)} … " in line
        assert ("; busy " in line) == (writer.busy is not None)
        assert len(line) <= 250


def test_a_writer_of_every_kind() -> None:
    text = (
        "[[writer]]\nid = 'a'\nrate = 10\nbusy = [[0, 100], [150, 200]]\nstop = 200\nrestarts = [50]\n"
        "[[writer]]\nid = 'b'\nrate = 15\nstart = 100\n"
        "clock = { offset = -90, drift = -2, tick = 0.015625, "
        "step = [[5, 1], [6, -1], [7, 3], [8, 1], [9, 1], [10, 1]] }\n"
        "[deal]\nmode = 'sticky'\n[before]\nlayout = 'uuid-v4'\nshare = 0.5\n"
    )
    assert lines(scenario(text), 6000) == [
        "a: 20 rows/s; runs 0 s … 200 s; busy 0 s … 100 s, 150 s … 200 s; restarts at 50 s",
        "b: 30 rows/s; runs 100 s … 200 s; clock 90 s behind, loses 2 µs a second, ticks every 15.625 ms, "
        "steps +1 s at 5 s, -1 s at 6 s, +3 s at 7 s, +1 s at 8 s, +1 s at 9 s, 1 more",
        "dealt out: sessions of 100 rows, each to a busy writer drawn at random, by rate",
        "keys of rows 1 … 3,000: uuid-v4, then the measured layout",
    ]


def test_servers_that_make_keys_are_named() -> None:
    text = "[server]\nrestarts = [20, 30]\nhosts = 3\n[[writer]]\nid = 'a'\nrate = 10\nserver = 2\n"
    text += "[[writer]]\nid = 'b'\nrate = 10\n"
    assert lines(scenario(text), 3000) == [
        "a: 10 rows/s; runs 0 s … 150 s; keys of server 2",
        "b: 10 rows/s; runs 0 s … 150 s; keys of server 0",
        "servers that make keys restart at 20 s, 30 s, on 3 machines in turn",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (0.05, "0.05 s"), (599, "599 s"), (600, "10 min"), (3600, "1 h"), (9000, "2 h 30 min")],
)
def test_lengths_of_time(seconds: float, said: str) -> None:
    assert span(seconds) == said
