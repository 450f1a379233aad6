"""Scenario files and `--payload`: what they may say, and what is said about those that may not."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.model.load_path import LOAD_PATHS
from keybench.model.payload import PayloadLengths
from keybench.scenarios.files import load_scenario, parse_scenario, scenario_names, with_payload
from keybench.scenarios.schema import scenario_of
from tests.errors import raised

PATHS = " or ".join(map(repr, LOAD_PATHS))
MINIMAL = 'title = "t"\nrows = 10\nstart = 2026-01-01T00:00:00Z\n'
SMALLEST = MINIMAL + "[table]\n"


def problem(text: str) -> str:
    return raised(UsageError, parse_scenario, "mine", text, where="mine.toml")


def test_a_scenario_that_only_makes_keys_has_one_writer() -> None:
    text = 'title = "x"\nrows = 5\nstart = 2026-01-01T00:00:00Z\n[generation]\nthreads = [2]\n'
    assert [way.title for way in parse_scenario("mine", text, where="mine").generation.ways] == ["AES, 2 threads"]
    two = text + '[[writer]]\nid = "a"\n[[writer]]\nid = "b"\n'
    with pytest.raises(UsageError, match=r"generation has rows, and one writer, whose rate is each thread's"):
        parse_scenario("mine", two, where="mine")
    with pytest.raises(UsageError, match=r"generation\.entropy\.0: Input should be 'aes', 'os' or 'plain'"):
        parse_scenario("mine", text + 'entropy = ["dice"]\n', where="mine")


def test_every_scenario_that_keybench_brings_is_valid() -> None:
    assert {"quick", "two-million", "beyond-cache", "row-width"} <= set(scenario_names())
    for name in scenario_names():
        assert load_scenario(name).name == name


@pytest.mark.parametrize("name", scenario_names())
def test_titles_leave_out_numbers_of_rows_and_blocks_which_options_change(name: str) -> None:
    title = load_scenario(name).title.casefold()
    assert not re.search(r"\d{1,3},\d{3} rows|\brows? in each milli|million|thousand rows|\d blocks", title)


def test_defaults() -> None:
    scenario = parse_scenario("mine", MINIMAL, where="mine.toml")
    assert scenario.start == datetime(2026, 1, 1, tzinfo=UTC)
    assert (scenario.table.payload, scenario.table.key, scenario.load.rows_per_tx) == ((100,), "clustered", 1000)
    assert scenario.load.path == "rows"
    assert [(writer.id, writer.rate) for writer in scenario.writer] == [("writer", 1000.0)]
    assert scenario.after.reads == 0


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL + "[table]\npayload = [0, 7]\n[[writer]]\nid = 'a'\nrate = 5\n")
    scenario = load_scenario(str(path))
    assert (scenario.name, scenario.table.payload, scenario.rate) == ("mine", (0, 7), 5.0)


def test_a_name_that_is_not_known() -> None:
    said = raised(UsageError, load_scenario, "quik")
    assert said.startswith("unknown scenario 'quik'. Did you mean quick? `keybench list scenarios` has all.")
    assert said.endswith("Your own: give the path of a file that ends in .toml.")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.toml cannot be read .*: check the path\.$"):
        load_scenario(str(tmp_path / "nothing.toml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MINIMAL + "[tabel]\n", "tabel: no such field, did you mean table?"),
        (MINIMAL + "[table]\npaylod = 3\n", "table.paylod: no such field, did you mean payload?"),
        (MINIMAL + "zzz = 3\n", "zzz: no such field."),
        (MINIMAL.replace("10", "0"), "rows: Input should be greater than 0 (it says 0)"),
        (MINIMAL.replace("10", '"many"'), "rows: Input should be a valid integer (it says 'many')"),
        (MINIMAL.replace("rows = 10\n", ""), "give either rows or index_over_cache"),
        (MINIMAL + "index_over_cache = 4\n", "give either rows or index_over_cache"),
        (MINIMAL.replace('title = "t"\n', ""), "title: Field required"),
        (MINIMAL.replace("00Z", "00"),
         "start: Input should have timezone info (it says datetime.datetime(2026, 1, 1, 0, 0))"),
        (MINIMAL + "[load]\nfilled = 1.0\n", "load.filled: Input should be less than 1 (it says 1.0)"),
        (MINIMAL + '[load]\npath = "fast"\n', f"load.path: Input should be {PATHS} (it says 'fast')"),
        (MINIMAL + "[server]\nrestarts = [0.001, 0.001]\n", "server: the restarts are not in order of time: sort them"),
        (MINIMAL + "[server]\nhosts = 2\n",
         "server: the next of 2 hosts takes over at each restart, and the list of restarts has 0: give at least 1"),
        (MINIMAL + "[server]\nrestarts = [5]\n",
         "the server restarts at 5 s, but the last of 10 rows is sent at 0.01 s: give more rows, or leave the "
         "restart out"),
        (MINIMAL + "columns = 3\n", "columns: the columns have to be a list of names: write them so (it says 3)"),
        (MINIMAL + "[columns]\nmysql = 3\n", "columns: the columns of mysql have to be a list of names: write them so"),
        (MINIMAL + "[columns]\nmysql = [3]\n",
         "columns: the columns of mysql have to be a list of names: write them so"),
        (SMALLEST + "payload = { min = 1 }\n", "table.payload.0.max: Field required"),
        (SMALLEST + "payload = { min = 9, max = 9 }\n",
         "table.payload.0: min is below max: for rows of one length write payload = 9"),
        (SMALLEST + 'payload = { min = 0, max = 3, distribution = "normal" }\n',
         "table.payload.0.distribution: Input should be 'uniform', 'zipfian' or 'row-number' (it says 'normal')"),
        (SMALLEST + "payload = { min = 0, mox = 3 }\n", "table.payload.0.mox: no such field, did you mean max?"),
        (SMALLEST + "payload = [200, { min = 0, max = 200 }]\n",
         "table: two payloads have up to 200 characters, by which results tell them apart: leave one out"),
        (MINIMAL + '[table]\npayload = "x"\n', "table.payload.0: Input should be a valid integer (it says 'x')"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    lines = problem(text).splitlines()
    assert lines[0] == "scenario mine.toml:"
    assert f"  {said}" in lines
    assert lines[-1] == "Fields: docs/scenarios.md."


def test_columns_for_all_databases_or_by_database() -> None:
    everywhere = parse_scenario("mine", MINIMAL + 'columns = ["native", "char36"]\n', where="mine.toml")
    assert everywhere.columns_on("mssql") == everywhere.columns_on("sqlite") == ("native", "char36")
    text = MINIMAL + '[columns]\nmysql = "char36"\nsqlite = ["binary16", "char36"]\n'
    by_database = parse_scenario("mine", text, where="mine.toml")
    assert by_database.columns_on("mysql") == ("char36",)
    assert by_database.columns_on("sqlite") == ("binary16", "char36")
    assert by_database.columns_on("oracle") == ()
    again = scenario_of(by_database.model_dump(mode="json"), strict=False)
    assert again == by_database


def test_tables_beyond_the_single_key() -> None:
    child = parse_scenario("mine", MINIMAL + '[table]\nkey = "fk"\nchildren = 3\n', where="mine.toml")
    assert (child.table.key, child.table.children) == ("fk", 3)
    assert parse_scenario("mine", MINIMAL + '[table]\nkey = "by-date"\n', where="mine.toml").table.children == 1
    assert problem(MINIMAL + "[table]\nchildren = 3\n") == (
        "scenario mine.toml:\n  table: only a table whose key is a foreign key has children: "
        'add key = "fk", or leave them out\nFields: docs/scenarios.md.'
    )
    assert problem(MINIMAL + '[table]\nkey = "by-date"\n[load]\npath = "bulk"\n') == (
        "scenario mine.toml:\n  the bulk path loads a key and its payload alone: "
        'leave out key = "by-date"\nFields: docs/scenarios.md.'
    )
    assert problem(MINIMAL + '[table]\nkey = "fk"\n[after]\nreads = 5\n') == (
        "scenario mine.toml:\n  what follows the load is done by keys that have one row each: leave out after\n"
        "Fields: docs/scenarios.md."
    )


def test_equal_writers_share_the_rate() -> None:
    scenario = parse_scenario("mine", MINIMAL, where="").with_equal_writers(4)
    assert [(w.id, w.rate) for w in scenario.writer] == [(f"writer-{i}", 250.0) for i in (1, 2, 3, 4)]


def test_equal_writers_are_refused_where_the_scenario_names_its_own() -> None:
    scenario = parse_scenario("mine", MINIMAL + "[[writer]]\nid = 'a'\n[[writer]]\nid = 'b'\n", where="")
    with pytest.raises(UsageError, match=r"^scenario mine names its own 2 writers: leave out --writers\.$"):
        scenario.with_equal_writers(2)


def test_every_field_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
    from keybench.scenarios.files import field_names

    for name in field_names():
        assert f"`{name}`" in text, f"docs/scenarios.md does not explain {name}"


def test_windows_clock_is_the_old_timer_of_windows() -> None:
    scenario = load_scenario("windows-clock")
    assert {writer.clock.tick for writer in scenario.writer} == {1 / 64}
    assert [writer.rate / 64 for writer in scenario.writer] == [10] * 4  # rows of a machine in a tick


BIG = "1" + "0" * 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"', "scenario mine.toml:\n  name: no such field, because a scenario has the name of its file."),
        ("blocks = 9223372036854775808", "  blocks: Input should be less than or equal to 10000 (it says 9223372036"),
        (f"blocks = {BIG}", "  blocks: Input should be less than or equal to 10000 (it says 1000000000"),
        (f"[load]\nskew_rows = {BIG}",
         "  load.skew_rows: Input should be less than or equal to 1000000000000000 (it says "),
        (f"[load]\nfilled = {BIG}", "  load.filled: Input should be a valid number (it says 1000000"),
        ("[load]\nfilled = nan", "  load.filled: Input should be a finite number (it says nan)"),
        ('[[writer]]\nid = "a"\nrate = inf', "  writer.0.rate: Input should be a finite number (it says inf)"),
        ('[[writer]]\nid = "a"\nstart = nan', "  writer.0.start: Input should be a finite number (it says nan)"),
        ('[[writer]]\nid = "a"\nclock = { tick = nan }', "  writer.0.clock.tick: Input should be a finite number"),
        ('[[writer]]\nid = "a"\nrate = 1e-300',
         "  the last row would be sent at 1e+301 s, thousands of years after the start: give fewer rows or higher"),
        ("x = " + "[" * 5000, "scenario mine.toml is no valid TOML: its values are nested too deeply."),
        ("x = " + "9" * 5000, "scenario mine.toml is no valid TOML: Exceeds the limit (4300 digits) for integer"),
    ],
)  # fmt: skip
def test_numbers_and_depths_that_no_scenario_has(text: str, message: str) -> None:
    said = problem(f"{MINIMAL}{text}\n")
    assert message in said
    assert len(said) < 500


QUICK = load_scenario("quick")


@pytest.mark.parametrize(
    ("text", "payloads"),
    [
        ("0", (PayloadLengths(0, 0),)),
        ("0-200", (PayloadLengths(0, 200),)),
        ("1-9:zipfian", (PayloadLengths(1, 9, "zipfian"),)),
        ("100, 4-7:row-number", (PayloadLengths(100, 100), PayloadLengths(4, 7, "row-number"))),
    ],
)
def test_an_option_replaces_the_scenarios_payloads_and_names_itself(
    text: str, payloads: tuple[PayloadLengths, ...]
) -> None:
    changed = with_payload(QUICK, text)
    assert changed.table.payloads == payloads
    assert changed.name == f"quick, payload {text}"
    assert changed.table.key == QUICK.table.key


@pytest.mark.parametrize(
    "text", ["x", "-1", "5-5", "9-3", "0-200:normal", "0-200:", "1,,2", "1-2-3", "1000001", "7,0-7"]
)
def test_other_texts_are_refused(text: str) -> None:
    assert raised(UsageError, with_payload, QUICK, text) == (
        f"--payload {text}: write a number of characters up to 1,000,000, or a range with a distribution (uniform, "
        "zipfian or row-number), as in 100, 0-200 or 0-200:zipfian; several are separated by commas."
    )


def test_a_range_in_a_file() -> None:
    table = parse_scenario("mine", SMALLEST + "payload = [100, { min = 0, max = 200 }]\n", where="mine.toml").table
    assert table.payloads == (PayloadLengths(100, 100), PayloadLengths(0, 200))
    assert [one.varying for one in table.payloads] == [None, PayloadLengths(0, 200)]
