"""Names with a meaning of their own among the names of layouts, columns, databases and servers."""

from __future__ import annotations

from typing import Final

CONTROL: Final = "bigint-identity"
"""The layout that all ratios are taken against; every run measures it."""

RANDOM: Final = "uuid-v4"
"""Random GUIDs: what people use who choose nothing."""

NATIVE: Final = "native"
"""As a column: the engine's own type for that kind of key, whatever its name."""

NO_DATABASE: Final = "none"
"""The database of trials that only make keys; their server says how."""

MODEL_SERVER: Final = "model"
"""The server of trials through a page model: their figures are computed, not measured."""
