"""Names of layouts, columns, databases and servers that have a special meaning."""

from __future__ import annotations

from typing import Final

CONTROL: Final = "bigint-identity"
"""The layout that is the denominator of all ratios. Every run measures it."""

RANDOM: Final = "uuid-v4"
"""Random GUIDs, which people use who make no choice."""

NATIVE: Final = "native"
"""As the name of a column: the engine's own type for that kind of key."""

NO_DATABASE: Final = "none"
"""The database of trials that only make keys. Their server says how the keys are made."""

MODEL_SERVER: Final = "model"
"""The server of trials that use a page model. Their figures are computed, not measured."""
