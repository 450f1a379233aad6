"""Widths of text, and labels broken into lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

SIZE: Final = 12.0
SMALL: Final = 11.0
"""Font sizes in pixels."""

_CHARACTER: Final = 0.56
"""Width of an average character, in font sizes."""


def text_width(text: str, size: float = SIZE) -> float:
    """Approximate width of a line of text, in pixels."""
    return len(text) * size * _CHARACTER


def label_lines(text: str, longest: int = 22) -> list[str]:
    """The text in lines of about `longest` characters, broken after hyphens; none for an empty text."""
    text = " ".join(text.split())
    if not text:
        return []
    if len(text) > 3 * longest:
        text = text[: 3 * longest - 1] + "…"
    parts = [piece for part in re.findall(r"[^-\s]*[-\s]?", text) for piece in _pieces(part, longest)]
    fewest = _packed(parts, longest)
    # The same number of lines, of lengths as even as possible.
    tries = (_packed(parts, limit) for limit in range(-(-len(text) // len(fewest)), longest))
    return next((packed for packed in tries if len(packed) == len(fewest)), fewest)


def _packed(parts: Sequence[str], longest: int) -> list[str]:
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > longest:
            lines.append("")
        lines[-1] += part
    return [line.strip() for line in lines]


def _pieces(text: str, longest: int) -> Sequence[str]:
    return [text[i : i + longest] for i in range(0, len(text), longest)]
