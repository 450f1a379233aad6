"""MySQL: InnoDB's clustered tables. MariaDB uses the same modules; `flavour` has the differences."""

from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import MYSQL

ENGINE = MySqlEngine.for_flavour(MYSQL)
