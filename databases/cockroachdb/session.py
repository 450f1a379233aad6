"""A writer's connection: PostgreSQL's, whose batches are sent again if the cluster rolls them back.

CockroachDB reads COPY as text, and commits one COPY as one transaction (`copy_from_atomic_enabled`, since 22.2;
"Session Variables"). It tries transactions of one statement again by itself where it can; what reaches the client has
SQLSTATE 40001 ("Transaction Retry Error Reference").
"""

from __future__ import annotations

from keybench.databases.postgresql.session.retrying import RetryingSession


class CockroachSession(RetryingSession):
    """One writer's connection to one table."""

    settings = (b"SET copy_from_atomic_enabled = on", b"SET copy_transaction_quality_of_service = regular")
    """By the second, since 23.2, COPY does not give way to all other work, as it would by default."""
