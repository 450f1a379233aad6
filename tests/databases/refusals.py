"""Commands that a database cannot do."""

from __future__ import annotations

import importlib

import pytest

from keybench import cli

_MODULES = {"run": "runners", "forecast": "forecast", "advise": "advice"}


def refused(message: str, capsys: pytest.CaptureFixture[str], command: str, *arguments: str) -> None:
    """Asserts that `keybench COMMAND ARGUMENTS` says exactly that and ends with the exit code of a user's error."""
    app = importlib.import_module(f"keybench.{_MODULES[command]}.command").app
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        cli.run(app, arguments)
    assert (end.value.code, *capsys.readouterr()) == (2, "", f"keybench: {message}\n")
