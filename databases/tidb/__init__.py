"""TiDB: tables in the order of their primary key, divided into Regions."""

from keybench.databases.tidb.engine import ENGINE

__all__ = ["ENGINE"]
