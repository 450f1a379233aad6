"""CockroachDB: tables in key order, divided into ranges."""

from keybench.databases.cockroachdb.engine import ENGINE

__all__ = ["ENGINE"]
