"""MariaDB: InnoDB's clustered tables, and a `uuid` type of its own. Its modules are those of `mysql`."""

from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import MARIADB

ENGINE = MySqlEngine.for_flavour(MARIADB)
