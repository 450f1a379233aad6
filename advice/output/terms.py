"""The words of the craft on the first screen of an answer: each is explained where it first stands, and only there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from keybench.advice import sentences
from keybench.advice.answer import Answer

_LOG: Final = re.compile(r"\blog\b")
_MODEL: Final = re.compile(r"\bpage models?\b")
_PAGE: Final = re.compile(r"\bpages?\b(?! model)")
_SPLIT: Final = re.compile(r"splits? full pages in half|\bsplits [\d.,]+ pages|pages are split")
_SAYS_IT: Final = "in half"
"""What splits do, in the words of the answer itself."""


def first_screen(answer: Answer, *more: str) -> list[str]:
    """What to do, why, what else, and what that rests on; then `more`, which stands below. Terms are explained."""
    told = [
        sentences.headline(answer),
        sentences.reason(answer),
        *sentences.rest(answer),
        sentences.basis_in_brief(answer),
    ]
    return explained([*told, *more], answer.needs.on.title)


def explained(texts: Sequence[str], database: str) -> list[str]:
    """The texts with half a sentence behind the first place of each term."""
    notes = list(_notes(texts, database))
    return [_with(text, [(at, note) for where, at, note in notes if where == i]) for i, text in enumerate(texts)]


def _notes(texts: Sequence[str], database: str) -> Iterator[tuple[int, int, str]]:
    """(which text, behind which character, what to say there)."""
    if found := _first(_PAGE, texts):
        blocks = "blocks" if found[1][0] == "pages" else "a block"
        yield found[0], found[1].end(), f"{blocks} of a few KB that {database} reads and writes at once"
    found = _first(_SPLIT, texts)
    if found and _SAYS_IT not in found[1][0]:
        yield found[0], found[1].end(), "half of a full page's rows move to a new page"
    if found := _first(_LOG, texts):
        yield found[0], found[1].end(), "the database's record of changes, for recovery after a crash"
    if found := _first(_MODEL, texts):
        yield found[0], found[1].end(), "a program that fills an index by the rules of the database"


def _first(term: re.Pattern[str], texts: Sequence[str]) -> tuple[int, re.Match[str]] | None:
    return next(((i, match) for i, text in enumerate(texts) if (match := term.search(text))), None)


def _with(text: str, notes: Sequence[tuple[int, str]]) -> str:
    at_one_place: dict[int, list[str]] = {}
    for at, note in notes:
        at_one_place.setdefault(at, []).append(note)
    for at, told in sorted(at_one_place.items(), reverse=True):
        inside = text.count("(", 0, at) > text.count(")", 0, at)
        note = f" – {'; '.join(told)} –" if inside else f" ({'; '.join(told)})"
        text = text[:at] + note + text[at:]
    return text
