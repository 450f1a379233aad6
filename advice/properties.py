"""What the keys of a layout are, in one column of one engine: read off what the layout declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Final, Literal

import numpy as np

from keybench.advice.how_to.statements import Default, default_of
from keybench.advice.load import Growth, first_rows
from keybench.databases.contract.engine import Engine
from keybench.databases.core.ddl import server_made
from keybench.generators.core.layout import Layout
from keybench.model.column import Column
from keybench.model.table import ServerKeys

Contention = Literal["one page", "a page a writer", "many pages"]
"""Where writers insert at the same time: all into the last page, each into its own, or anywhere."""

UNGUESSABLE_BITS: Final = 60
"""Bits drawn for each key, from which on a key cannot be guessed.

By the formula of OWASP's Session Management Cheat Sheet, (2^bits + 1) / (2 · guesses a second · keys that count), a
search with 10,000 guesses a second among 1,000 keys of one millisecond then takes more than 1,000 years.
"""

_SPREAD, _RANGES = 0.1, 64
"""Keys spread if no 64th of the index takes more than a tenth of them."""
_MAKERS: Final[Mapping[str, str]] = {
    "process": "which process made it",
    "machine": "which machine made it",
    "worker id": "which worker made it",
}


@dataclass(frozen=True)
class Properties:
    """What people ask of keys."""

    server: ServerKeys | None
    """The keys of that layout, or like them, that the server makes itself, if this version does."""
    default: Default
    """What makes such keys as the column's default, where the server itself does not; the statements have it."""
    by_clients: bool
    """Whether a client can make a key without asking anybody."""
    ascends: bool
    """Whether the column compares those bytes first by which the layout ascends."""
    sortable: bool
    """Whether keys sort by time in this column, over all writers."""
    random_bits: float
    tells: tuple[str, ...]
    """What a reader of one key learns."""
    uniqueness: str
    contention: Contention

    @property
    def by_server(self) -> bool:
        """Whether the server makes such keys: itself, or by the column's default."""
        return self.server is not None or bool(self.default)


def properties(on: Engine, version: str, key_layout: Layout, column: Column, rows_per_second: float) -> Properties:
    """Of one layout in one column of an engine of that version."""
    facts = key_layout.description
    ascends = key_layout.suits(column)
    server = server_made(on.server_keys, key_layout.name, column, on.versions.get(version, 0))
    return Properties(
        server=server,
        default="" if server else default_of(on, version, column, key_layout.name),
        by_clients=facts.uniqueness != "plan" and not key_layout.one_counter,
        ascends=ascends,
        sortable=ascends and (facts.time is not None or (facts.within == "always" and facts.across == "always")),
        random_bits=random_bits(key_layout),
        tells=_tells(key_layout),
        uniqueness=facts.uniqueness,
        contention=_contention(key_layout, column, rows_per_second),
    )


def random_bits(key_layout: Layout) -> float:
    """Bits that are drawn for each key, and are parts of their own."""
    facts = key_layout.description
    if key_layout.kind != "text":
        return float(facts.random_width)
    return sum(
        part.width * log2(len(facts.alphabets.get(part.letter, "") or "?"))
        for part in facts.parts
        if part.letter in facts.random
    )


def _tells(key_layout: Layout) -> tuple[str, ...]:
    facts = key_layout.description
    secrets = []
    if facts.time is not None:
        secrets.append("when it was made")
    elif facts.counts_from_clock:
        secrets.append("roughly when its process began")
    if facts.uniqueness in _MAKERS:
        secrets.append(_MAKERS[facts.uniqueness])
    if facts.uniqueness == "plan" and facts.within == "always":
        secrets.append("how many rows came before it")
    return tuple(secrets)


def _contention(key_layout: Layout, column: Column, rows_per_second: float) -> Contention:
    if _hottest_share(key_layout.name, column, rows_per_second) <= _SPREAD:
        return "many pages"
    return "a page a writer" if key_layout.description.across == "no" and not key_layout.one_counter else "one page"


@cache
def _hottest_share(name: str, column: Column, rows_per_second: float) -> float:
    """The share of one writer's next keys that goes to the hottest of 64 ranges, which hold equally many older keys.

    1/64 and a little where keys spread over all ranges, 1 where each key goes to the last range.
    """
    older, newer = 4096, 1024
    words = first_rows(name, column, Growth(older + newer, rows_per_second), older + newer, 1).words[:, 0]
    borders = np.sort(words[:older])[:: older // _RANGES][1:]
    counts = np.bincount(np.searchsorted(borders, words[older:], side="right"), minlength=_RANGES)
    return float(counts.max() / newer)
