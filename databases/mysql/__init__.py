"""MySQL: InnoDB's clustered tables. Written from documentation and source: no MySQL server has run these modules yet.

MariaDB, its flavour, runs the same modules, and what was run and measured was MariaDB.
"""

from __future__ import annotations

from keybench.databases.mysql.engine import Family
from keybench.databases.mysql.flavour import MYSQL

ENGINE = Family.of(MYSQL)
