"""A writer's connection: PostgreSQL's, whose batches are sent again if the cluster rolls them back.

YugabyteDB commits a COPY after each 20,000 rows, unless `yb_default_copy_from_rows_per_transaction` is 0 ("COPY"). It
does not try a COPY again by itself, and reports conflicts by SQLSTATE 40001 and 40P01 ("Transaction retries").
"""

from __future__ import annotations

from keybench.databases.postgresql.session.retrying import RetryingSession


class YugabyteSession(RetryingSession):
    """One writer's connection to one table."""

    settings = (b"SET yb_default_copy_from_rows_per_transaction = 0",)
