"""The command `keybench list scenarios`."""

import pytest

from keybench.listing import scenarios
from keybench.scenarios.files import load_scenario, scenario_names


def test_it_lists_every_scenario_with_its_title(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    scenarios()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(scenario_names())
    for name, line in zip(scenario_names(), lines[1:], strict=True):
        assert line.split()[0] == name
        assert load_scenario(name).title in line
