"""The kinds of declarations that metrics share, and sentences that several of them have."""

from __future__ import annotations

from functools import partial
from typing import Final

from keybench.model.definition import Definition, Theme

DEEP_LEAVES: Final = 10
"""An insert is deep if it is more than this many leaves behind the right edge."""

WINDOW_ROWS: Final = 1000
FRONT_ROWS: Final = 100
"""Insertion fronts are the places to which `WINDOW_ROWS` successive rows go. Two places are different fronts if more
than `FRONT_ROWS` older keys lie between them."""

HIGHEST: Final = "Of several writers, the highest value of any one."
"""One number for all writers must not hide the writer that lags."""

P95: Final = f"95 % of inserts that lag have less. {HIGHEST}"
REPLACED: Final = "Only runs of older versions have it: it hides a writer that lags for less than half of its inserts."

time = partial(Definition, theme=Theme.TIME)
keys = partial(Definition, theme=Theme.KEYS)
pages = partial(Definition, theme=Theme.PAGES, exact=True, of_index=True)
splits = partial(Definition, theme=Theme.SPLITS, exact=True)
position = partial(Definition, theme=Theme.POSITION, exact=True)
storage = partial(Definition, theme=Theme.STORAGE)
afterwards = partial(Definition, theme=Theme.AFTERWARDS)
phase = partial(Definition, theme=Theme.AFTERWARDS, some_engines=True)
machine = partial(Definition, theme=Theme.MACHINE)
