"""The address of a user's own cluster: a PostgreSQL URL whose scheme is `yugabytedb`."""

from __future__ import annotations

from keybench.databases.contract.roles import Address
from keybench.databases.postgresql.url import Reached
from keybench.databases.postgresql.url import address_of as of_postgresql

YUGABYTEDB = Reached("yugabytedb", "YugabyteDB", "5433", "yugabyte", mark="-yb-")


def address_of(text: str) -> Address:
    """The address of a yugabytedb:// URL; UsageError, which does not show the URL, if it cannot be understood."""
    return of_postgresql(text, YUGABYTEDB)
