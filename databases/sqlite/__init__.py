"""SQLite, which runs inside the process."""

from keybench.databases.sqlite.engine import ENGINE

__all__ = ["ENGINE"]
