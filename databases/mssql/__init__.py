"""SQL Server, in a container or at a URL."""

from keybench.databases.mssql.engine import ENGINE

__all__ = ["ENGINE"]
