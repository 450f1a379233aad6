"""No foreign text passes as markup, as an emoji code or as a control character, wherever it is printed."""

import io
import json

import pytest
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from keybench import cli
from keybench.model.printable import printable
from keybench.terminal import Terminal

FOREIGN = "[/b]:bomb: [red]\x1b[31m\u202eevil\u200b\x9b\udcff\U000e0001"
SHOWN = r"[/b]:bomb: [red]\u001b[31m\u202eevil\u200b\u009b\udcff\udb40\udc01"


def test_what_cannot_be_printed_is_an_escape() -> None:
    assert printable("Zürich, 5 µs\u00a0× 2\n") == "Zürich, 5 µs\u00a0× 2\n"
    assert printable(FOREIGN) == SHOWN
    assert json.loads(printable(json.dumps({"a": FOREIGN}, ensure_ascii=False))) == {"a": FOREIGN}


@pytest.mark.parametrize("form", [str, Text, lambda text: Padding(text, 0)], ids=["text", "Text", "inside"])
def test_the_console_shows_foreign_text_as_it_is(form) -> None:
    console = Terminal(file=io.StringIO(), width=120, force_terminal=True)
    console.print(form(FOREIGN))
    table = Table(box=None)
    table.add_column("name", overflow="fold")
    table.add_row(form(FOREIGN))
    console.print(table)
    lines = [line.strip() for line in console.file.getvalue().splitlines()]
    assert lines[0] == SHOWN
    assert lines[2] == (SHOWN if form is not Text else SHOWN[: len(lines[2])])  # rich has measured the foreign text


def test_a_spinner_shows_foreign_text_as_it_is() -> None:
    console = Terminal(file=io.StringIO(), width=120, force_terminal=True)
    with console.status(FOREIGN) as status:
        status.update(Text(f"{FOREIGN} 2"))
    assert SHOWN in console.file.getvalue()
    assert "\u202e" not in console.file.getvalue()


@pytest.mark.parametrize(("said", "believed"), [("1", cli.NARROWEST), ("77", 77), ("99999999", cli.WIDEST)])
def test_a_terminal_is_as_wide_as_can_be(said: str, believed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", said)
    assert cli.console().width == believed
