"""Names of layouts, columns, databases and servers that have a special meaning, and the limits of a run."""

from typing import Final

CONTROL: Final = "bigint-identity"
"""The layout that is the denominator of all ratios. Every run measures it."""

RANDOM: Final = "uuid-v4"
"""Random GUIDs, which people use who make no choice."""

NATIVE: Final = "native"
"""As the name of a column: the engine's own type for that kind of key, which is the layout's default column."""

SUITED: Final = "suited"
"""As the name of a column: the layout's default column, and the one in whose order it ascends, if that is another."""

NO_DATABASE: Final = "none"
"""The database of trials that only make keys. Their server says how the keys are made."""

MOST_ROWS: Final = 10**15
"""The most rows of a trial: more than any disk holds, and few enough for 64-bit arithmetic on ticks and places."""

MOST_BLOCKS: Final = 10_000
"""The most blocks of a run."""

MODEL_SERVER: Final = "model"
"""The server of trials that use a page model. Their figures are computed, not measured."""

COMPUTED: Final = frozenset({MODEL_SERVER})
"""The servers of trials that compute and measure nothing."""
