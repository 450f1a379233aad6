"""YugabyteDB: tables in the order of their key or of its hash, divided into tablets."""

from keybench.databases.yugabytedb.engine import ENGINE

__all__ = ["ENGINE"]
