"""The notebooks as they are shown: run from top to bottom, with pictures, without a trace of the machine."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_four() -> None:
    assert [path.stem[:3] for path in NOTEBOOKS] == ["01-", "02-", "03-", "04-"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_whole_and_of_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert str(Path(__file__).parents[1]) not in text
    assert len(text) < 1_000_000
