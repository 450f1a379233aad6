"""RT.Comb's `GetTimestamp` for single GUIDs."""

import uuid
from datetime import UTC, datetime

from keybench.generators import timestamp


def test_published_combs_have_the_published_times() -> None:
    """The README of RT.Comb's T-SQL functions."""
    assert timestamp(uuid.UUID("d01c25cc-63a7-47cc-b5ba-018e5f3bff48"), "rt-comb-sql") == datetime(
        2024, 3, 21, 4, 19, 11, 304_000, tzinfo=UTC
    )
    assert timestamp(uuid.UUID("E25AFE33-DB2D-4502-9BF0-919001862CC4"), "rt-comb-legacy") == datetime(
        2002, 1, 10, 23, 40, 35, tzinfo=UTC
    )
