"""What the screens of `list`, `show` and `decode` share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from rich.text import Text

from keybench.generators.commands.ascent import Ascends, Within
from keybench.generators.core.layout import Layout

_SYMBOLS: Final[Mapping[Within, str]] = {"strictly": "●", "by time": "◐", "no": "·", "refused": "✗"}


def symbol(ascends: Ascends | None) -> str:
    """How keys ascend in one column, as one symbol; empty where the column does not hold such keys."""
    if ascends is None:
        return ""
    one_process = ascends.within in {"strictly", "by time"} and not ascends.across
    return _SYMBOLS[ascends.within] + ("¹" if one_process else "")


def kind_and_width(layout: Layout) -> str:
    """The kind of the keys, with bits of integers, bytes or characters."""
    width = layout.description.width
    words = {"uuid": "uuid", "int": f"int {width}", "bytes": f"bytes {width // 8}", "text": f"text {width}"}
    return words[layout.kind]


def entry(heading: str, text: str, width: int, indent: int) -> Iterator[Text]:
    """A heading, and beside it its text, wrapped."""
    lines = textwrap.wrap(text, max(30, width - indent)) or [""]
    for number, line in enumerate(lines):
        yield Text((heading if not number else "").ljust(indent), style="bold") + Text(line, style="default not bold")
