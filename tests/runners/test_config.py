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


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "keybench.toml"
    path.write_text("[run\n")
    with pytest.raises(UsageError, match=r"keybench\.toml cannot be read .*: correct it or move it away\.$"):
        options("run", [], path)
    path.write_text("run = 3\n")
    with pytest.raises(UsageError, match=r"\[run\] must be a table of options\.$"):
        options("run", [], path)
