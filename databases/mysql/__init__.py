"""MySQL: InnoDB's clustered tables. Written from documentation and source: no MySQL server has run these modules yet.

MariaDB uses the same modules; all that was run and measured was MariaDB.
"""

from __future__ import annotations

from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import MYSQL

ENGINE = MySqlEngine.for_flavour(MYSQL)
