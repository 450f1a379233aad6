"""Tables as text, Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any


class Format(StrEnum):
    """The output formats of a comparison."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


def json_text(content: object) -> str:
    """Plain values as JSON, with a final newline."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def csv_text(records: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> str:
    """Records with a header line; absent values are empty. `names` of columns are needed if there may be no record."""
    out = io.StringIO()
    if header := names or (list(records[0]) if records else ()):
        table = csv.DictWriter(out, header, lineterminator="\n")
        table.writeheader()
        table.writerows(records)
    return out.getvalue()


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The table. Cells must be escaped."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int]) -> str:
    """Columns two spaces apart; the columns `right` are aligned to the right."""
    lines = [head, *rows]
    widths = [max(len(cells[place]) for cells in lines) for place in range(len(head))]
    aligned = (
        [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        for cells in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def escaped(text: str) -> str:
    """Text that Markdown shows unchanged, also inside a table: names and errors come from whoever made the run."""
    for sign in ("\\", "|", "<", ">", "*", "_", "`", "[", "]"):
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
