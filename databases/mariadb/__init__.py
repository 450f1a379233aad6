"""MariaDB: InnoDB's clustered tables, and a `uuid` type of its own. A flavour of MySQL: the modules are in `mysql`."""

from __future__ import annotations

from keybench.databases.mysql.engine import Family
from keybench.databases.mysql.flavour import MARIADB

ENGINE = Family.of(MARIADB)
