"""The options of `keybench run`: bad input gives one message with the next step, and no results are lost."""

import os
from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.runners.config import options
from keybench.runners.launch import command_line, licences_accepted, names, server_names
from keybench.runners.trials.prediction import ModelTrial
from tests.databases.installed import free_port
from tests.errors import raised
from tests.runners.conftest import Run, latest_trials, results


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--db", "postgress"), "unknown database 'postgress'. Did you mean postgresql?"),
        (("--layout", "uuid-v8x"), "unknown layout 'uuid-v8x'. Did you mean uuid-v"),
        (("--scenario", "quik"), "unknown scenario 'quik'. Did you mean quick?"),
        (("--column", "guid"), "unknown column 'guid'."),
        (("--profile", "durabel"), "unknown profile 'durabel'. Did you mean durable?"),
        (("--server", "locl"), "postgresql has no server kind 'locl' (it has: "),
        (("--server", "mysql=local"), "--server mysql=local: mysql is not among the databases of this run"),
        (("--server", "oracle://db/x"), "--server oracle://…: none of the databases of this run"),
        (("--writers", "4", "--rows", "3"), "3 rows are too few for 4 writers: give each at least one row."),
        (("--resume", "latest"), "no results database "),
        (("--db", "\t"), "--db '\\t' names no database: name one, such as sqlite, or leave the option out."),
        *[(("--rows", rows), "Invalid value for '--rows'") for rows in ("0", "-3", "many")],
        (("--rows", "9" * 30), "Invalid value for '--rows'"),
        (("--memory", "nan"), "Invalid value for '--memory'"),
        (("--cpus", "inf"), "Invalid value for '--cpus'"),
        (("--trial-timeout", "nan"), "Invalid value for '--trial-timeout'"),
        (("--blocks", "10001"), "Invalid value for '--blocks'"),
        (("--db", "sqlite", "--server", "model", "--layout", "all", "--blocks", "10000"),
         " trials in each of 10,000 blocks are more than 100,000: give fewer --blocks, layouts or databases."),
        (("--layout", "a\udcffb"), "unknown layout 'a\\udcffb'."),
        (("--layout", "x" * 100_000), "unknown layout 'xxx"),
        (("--results", "y" * 300), f"'{'y' * 99}… cannot be opened (File name too long): give --results another file."),
        (("--scenario", "\0.toml"), "scenario file \\u0000.toml cannot be read ([Errno 22] its name holds a NUL: "),
        (("--results", "a\0b", "--db", "sqlite", "--server", "model", "--rows", "9"),
         "'a\\x00b' cannot be opened (embedded null byte): give --results another file."),
    ],
)  # fmt: skip
def test_values_that_no_run_can_have(here: Run, arguments: tuple[str, ...], message: str) -> None:
    done = here(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("keybench: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 5000


def test_a_dry_run_says_when_writers_are_busy_and_uses_the_scenarios_columns(here: Run) -> None:
    options = ("--db", "sqlite", "--server", "embedded", "--layout", "uuid-v7", "--rows", "18000", "--dry-run")
    done = here("--scenario", "azure-lag", *options)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("web-")] == [
        "web-1: 1 rows/s; runs 0 … 7,200 s",
        "web-2: 1 rows/s; runs 20 … 7,200 s; busy 3,600 … 7,200 s",
        "web-3: 1 rows/s; runs 45 … 7,200 s; busy 3,600 … 7,200 s",
        "web-4: 1 rows/s; runs 3,600 … 7,200 s",
    ]
    assert {line.partition(": ")[2] for line in lines if "uuid-v7" in line} == {
        "sqlite · uuid-v7 · binary16, 18,000 rows",
        "sqlite · uuid-v7 · binary16-mssql, 18,000 rows",
    }
    done = here("--scenario", "azure-lag", *options, "--column", "binary16-mssql")
    assert "uuid-v7 · binary16," not in done.stdout


def test_resume_takes_no_other_options(here: Run) -> None:
    done = here("--resume", "latest", "--rows", "5", "--layout", "all")
    assert done.returncode == 2
    assert done.stderr == "keybench: --resume goes on with the run as it was planned: leave out --layout, --rows.\n"


def test_resume_creates_no_results(here: Run, tmp_path: Path) -> None:
    done = here("--resume", "zzz", "--results", "new.sqlite")
    missing = "no results database new.sqlite: measure with `keybench run`, or give --results another file."
    assert (done.returncode, done.stderr) == (2, f"keybench: {missing}\n")
    assert not (tmp_path / "new.sqlite").exists()


def test_an_unknown_option_in_the_configuration(here: Run, tmp_path: Path) -> None:
    (tmp_path / "keybench.toml").write_text("[run]\nrow = 5\n")
    done = here("--db", "sqlite")
    assert done.returncode == 2
    assert "unknown option of [run] in keybench.toml 'row'. Did you mean rows" in done.stderr


def test_help_names_the_exit_codes(here: Run) -> None:
    done = here("--help")
    assert done.returncode == 0
    for word in ("--db", "--resume", "Exit codes", "130 interrupted"):
        assert word in done.stdout


def test_options_of_a_command(tmp_path: Path) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text('[run]\ndb = ["sqlite", "postgresql"]\ntrial-timeout = 5\n')
    assert options("run", ["db", "trial_timeout"], path) == {"db": "sqlite,postgresql", "trial_timeout": 5}
    assert options("report", ["output"], path) == {}


def test_a_repeated_option_stays_a_list(tmp_path: Path) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text('[run]\nserver = ["sqlite=model", "mysql://a@h/x,y"]\n')
    expected = {"server": ["sqlite=model", "mysql://a@h/x,y"]}
    assert options("run", ["server"], path, repeated={"server"}) == expected
    path.write_text('[run]\nserver = "model"\n')
    assert options("run", ["server"], path, repeated={"server"}) == {"server": ["model"]}


@pytest.mark.parametrize("value", ["{a = 1}", "[[1]]", "[{}]", "2026-01-01"])
def test_a_value_of_another_kind_is_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text(f"[run]\ntrial-timeout = {value}\n")
    assert raised(UsageError, options, "run", ["trial_timeout"], path) == (
        f"{path}: [run] trial-timeout must be text, a number, true or false, or a list of texts: correct it."
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[run]\nrows = " + b"[" * 5000, "its values are nested too deeply"),
        (b"[run]\nrows = " + b"9" * 5000,
         "Exceeds the limit (4300 digits) for integer string conversion: value has 5000"),
        (b'[run]\ndb = "\xff"', "'utf-8' codec can't decode byte 0xff in position 12: invalid start byte"),
    ],
)  # fmt: skip
def test_what_the_parser_cannot_read_is_the_files_fault(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "keybench.toml"
    path.write_bytes(content)
    said = raised(UsageError, options, "run", ["rows", "db"], path)
    assert said.startswith(f"{path} cannot be read ({why}")
    assert said.endswith("): correct it or move it away.")


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text("[run\n")
    with pytest.raises(UsageError, match=r"keybench\.toml cannot be read .*: correct it or move it away\.$"):
        options("run", [], path)
    path.write_text("run = 3\n")
    with pytest.raises(UsageError, match=r"\[run\] must be a table of options\.$"):
        options("run", [], path)


@pytest.mark.parametrize("arguments", [["run", "--db", "sqlite"], ["--db", "sqlite"]])
def test_the_command_line_is_the_one_that_people_type(arguments: list[str]) -> None:
    assert command_line(arguments) == "keybench run --db sqlite"


def test_a_list_of_servers_may_hold_urls_with_commas() -> None:
    assert server_names(["local,sqlite=embedded", "mysql://a@h/x?set=1,2"]) == (
        "local",
        "sqlite=embedded",
        "mysql://a@h/x?set=1,2",
    )
    assert names(" a, b,,a ") == ("a", "b")


@pytest.mark.parametrize("before", [None, "oracle"])
def test_accepted_licences_are_forgotten_after_the_command(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEYBENCH_ACCEPT_EULA", raising=False)
    if before:
        monkeypatch.setenv("KEYBENCH_ACCEPT_EULA", before)
    with licences_accepted("mssql, sqlite"):
        assert os.environ["KEYBENCH_ACCEPT_EULA"] == "mssql,sqlite"
    assert os.environ.get("KEYBENCH_ACCEPT_EULA") == before
    with pytest.raises(UsageError, match="unknown database 'sql'"), licences_accepted("sql"):
        pass
    assert os.environ.get("KEYBENCH_ACCEPT_EULA") == before


@pytest.mark.parametrize("options", [(), ("--debug",)])
def test_a_traceback_is_stored_and_printed_if_asked_for(
    here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    def defect(self: ModelTrial) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(ModelTrial, "measure", defect)
    done = here("--db", "sqlite", "--server", "model", "--rows", "10", "--blocks", "1", *options)
    assert done.returncode == 1
    assert "ZeroDivisionError: a defect" in done.stdout
    trials = latest_trials(tmp_path)
    assert all(trial.traceback.endswith("\nZeroDivisionError: a defect\n") for trial in trials)
    assert done.stderr.count("Traceback (most recent call last)") == (len(trials) if options else 0)


def test_a_run_that_ends_before_its_first_trial_is_not_kept(here: Run, tmp_path: Path) -> None:
    done = here("--db", "postgresql", "--server", f"postgresql://me@127.0.0.1:{free_port()}/x", "--rows", "10")
    assert done.returncode == 4
    assert done.stdout.endswith("stopped before the first trial ended: the results have nothing of this run\n")
    with results(tmp_path) as store:
        assert store.runs() == []
