"""The address of a user's own cluster: a PostgreSQL URL whose scheme is `cockroachdb`."""

from __future__ import annotations

from keybench.databases.contract.roles import Address
from keybench.databases.postgresql.url import Reached
from keybench.databases.postgresql.url import address_of as of_postgresql

COCKROACHDB = Reached("cockroachdb", "CockroachDB", "26257", "defaultdb", mark="cockroachdb")


def address_of(text: str) -> Address:
    """The address of a cockroachdb:// URL; UsageError, which does not show the URL, if it cannot be understood."""
    return of_postgresql(text, COCKROACHDB)
