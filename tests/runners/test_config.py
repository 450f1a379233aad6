"""Defaults from keybench.toml."""

from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.runners.config import options


def test_options_of_a_command(tmp_path: Path) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text('[run]\ndb = ["sqlite", "postgresql"]\ntrial-timeout = 5\n')
    assert options("run", ["db", "trial_timeout"], path) == {"db": "sqlite,postgresql", "trial_timeout": 5}
    assert options("report", ["output"], path) == {}


def test_no_file_is_no_options(tmp_path: Path) -> None:
    assert options("run", ["db"], tmp_path / "keybench.toml") == {}


def test_an_unknown_option_lists_close_matches(tmp_path: Path) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text("[run]\nblock = 3\n")
    with pytest.raises(UsageError) as caught:
        options("run", ["blocks", "trial_timeout"], path)
    assert str(caught.value) == (
        f"unknown option of [run] in {path} 'block'. Did you mean blocks? Known: blocks, trial-timeout."
    )


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
    with pytest.raises(UsageError) as caught:
        options("run", ["trial_timeout"], path)
    assert str(caught.value) == (
        f"{path}: [run] trial-timeout must be text, a number, true or false, or a list of texts: correct it."
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[run]\nrows = " + b"[" * 5000, "its values are nested too deeply"),
        (
            b"[run]\nrows = " + b"9" * 5000,
            "Exceeds the limit (4300 digits) for integer string conversion: value has 5000",
        ),
        (b'[run]\ndb = "\xff"', "'utf-8' codec can't decode byte 0xff in position 12: invalid start byte"),
    ],
)
def test_what_the_parser_cannot_read_is_the_files_fault(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "keybench.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        options("run", ["rows", "db"], path)
    assert str(caught.value).startswith(f"{path} cannot be read ({why}")
    assert str(caught.value).endswith("): correct it or move it away.")


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text("[run\n")
    with pytest.raises(UsageError, match=r"keybench\.toml cannot be read .*: correct it or move it away\.$"):
        options("run", [], path)
    path.write_text("run = 3\n")
    with pytest.raises(UsageError, match=r"\[run\] must be a table of options\.$"):
        options("run", [], path)
