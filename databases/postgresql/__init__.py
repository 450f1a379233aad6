"""PostgreSQL: heap tables with nbtree indexes."""

from keybench.databases.postgresql.engine import ENGINE

__all__ = ["ENGINE"]
