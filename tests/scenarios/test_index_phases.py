"""The phases of an index's life in scenario files."""

import pytest

from keybench.errors import UsageError
from keybench.scenarios.files import load_scenario, parse_scenario, scenario_names
from keybench.scenarios.index_phases import expanded, rows_by_phase
from tests.errors import raised

MINIMAL = 'title = "t"\nrows = 100\nstart = 2026-01-01T00:00:00Z\n'


def phases(*lines: str) -> str:
    return MINIMAL + "".join(f"[[phase]]\n{line}\n" for line in lines)


def test_repetitions_are_written_out() -> None:
    text = phases("insert = 0.2", "insert = 0.1", "clean = true", "repeat = { phases = 2, times = 7 }")
    assert [one.what for one in expanded(parse_scenario("mine", text, where="mine").phase)] == [
        "insert",
        *["insert", "clean"] * 8,
    ]


def test_scenarios_with_phases_that_keybench_brings() -> None:
    named = {name for name in scenario_names() if load_scenario(name).phase}
    assert named >= {"retention", "sparse-delete", "rebuild-waves", "switch-then-rebuild", "switch-rebuild-later"}
    assert named >= {"queue-churn", "future-key", "convert-old-keys", "index-built", "order-lifecycle", "hot-rows"}
    assert named >= {"upsert", "queue-popped", "autovacuum-on"}


def test_rows_come_in_phases_to_the_nearest_row() -> None:
    text = phases("build = { share = 0.25 }", "clean = true", "insert = 0.1", "repeat = { phases = 1, times = 5 }")
    done = parse_scenario("mine", text + "[[phase]]\ninsert = 0.15\n", where="mine").phase
    assert rows_by_phase(done, 30) == [8, 8, 11, 14, 17, 20, 23, 26, 30]


BOTH = phases("insert = 1.0", "clean = true\nrebuild = {}")
WRITERS = '[[writer]]\nid = "a"\n[[writer]]\nid = "b"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (phases("insert = 0.5"), "the phases insert 0.5 of the rows: their shares have to be 1 together"),
        (phases("clean = true", "insert = 1.0"),
         "the first phase inserts or builds: nothing else can be done to an empty table"),
        (phases("insert = 1.0", "repeat = { phases = 2, times = 1 }"),
         "2 phases are repeated where there are 1 before: name fewer"),
        (phases("insert = 1.0", "clean = true", "repeat = { phases = 1, times = 1000 }"),
         "there are more than 1000 phases: repeat fewer"),
        (BOTH,
         "phase.1: a phase does one of build, insert, delete, update, read, clean, rebuild, restart, repeat: this "
         "one has clean and rebuild"),
        (phases("insert = 1.0", "delete = {}"), "phase.1.delete: give one of oldest, random and all_but_each"),
        (phases("insert = 1.0", "read = {}"), "phase.1.read: give one of present, deleted, scan and pop"),
        (phases("insert = 1.0", "update = { rows = 1.5 }"),
         "phase.1.update.rows: Input should be less than or equal to 1 (it says 1.5)"),
        (phases("insert = 1.0", "update = { rows = 0 }"),
         "phase.1.update.rows: Input should be greater than 0 (it says 0)"),
        (phases("insert = 1.0", 'update = { rows = 1, column = "colour" }'),
         "phase.1.update.column: Input should be 'payload' or 'status' (it says 'colour')"),
        (phases("insert = 1.0", 'update = { rows = 1, column = "status" }'),
         "a phase updates the column status, which the table lacks: add status = true to the table"),
        (MINIMAL + "[table]\nstatus = true\n", "a table has a status for phases that update it: leave it out"),
        (phases("insert = 1.0", "rebuild = { fill = 9 }"),
         "phase.1.rebuild.fill: Input should be greater than or equal to 10"),
        (phases("insert = 0.5", "build = { share = 0.5 }"), "only the first phase builds the index: use rebuild later"),
        (phases("insert = 1.0", 'clean = true\nlayout = "uuid-v4"'),
         "phase.1: layout and days_ahead are about the keys that a phase inserts: it has no insert or build"),
        (phases("insert = 1.0\ndays_ahead = 40_000"),
         "phase.0.days_ahead: Input should be less than or equal to 36500"),
        (phases("insert = 1.0\ndays_ahead = 1") + '[before]\nlayout = "uuid-v4"\nshare = 0.5\n',
         "phases with a layout or days_ahead say whose keys come when: leave out before and restarts"),
        (phases("insert = 1.5"), "phase.0.insert: Input should be less than or equal to 1"),
        (phases("insert = 1.0", "delete = { oldest = 1.1 }"),
         "phase.1.delete.oldest: Input should be less than or equal to 1"),
        (phases("insert = 1.0") + WRITERS,
         "a scenario with phases has one writer, and one table with one row for each key"),
        (phases("insert = 1.0") + "[after]\nreads = 5\n", "a scenario with phases has no after: leave it out"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(text: str, problem: str) -> None:
    assert problem in raised(UsageError, parse_scenario, "mine", text, where="mine.toml")
