"""Oracle Database, in a container or at a URL."""

from keybench.databases.oracle.engine import ENGINE

__all__ = ["ENGINE"]
