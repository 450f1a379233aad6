"""PostgreSQL: heap tables with nbtree indexes, on a private server (from a wheel or installed) or on one's own."""

from keybench.databases.postgresql.engine import ENGINE

__all__ = ["ENGINE"]
