"""A user's own server of MariaDB or MySQL: other people's tables, and a guest who must give a password."""

from urllib.parse import quote

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.container import KIND
from keybench.databases.mysql.admin import MySqlAdmin
from tests.databases.inside import InContainer, InFolder, Inside
from tests.databases.mysql.conftest import numbers, programs

VOLATILE = {"timestamp", "gtid_binlog_pos", "gtid_current_pos", "gtid_slave_pos"}
DUMPS = {
    "mariadb": ["mariadb-dump", "--no-defaults", "--skip-dump-date"],
    "mysql": ["mysqldump", "--no-defaults", "--skip-dump-date", "--set-gtid-purged=OFF"],
}
SYSTEM = {
    "mariadb": ["--system=users,plugins,udfs,servers"],
    "mysql": ["mysql", "user", "db", "tables_priv", "columns_priv", "procs_priv", "plugin", "func", "servers"],
}


class Owner:
    """Owns a private server; `guest` may do everything in the database keybench, `stranger` nothing."""

    place_of_its_own = "database keybench"
    table = "keybench.keybench_rows"

    def __init__(self, address: Address, password: str) -> None:
        self._address = address
        self._contained = KIND in address.parameters
        self._inside: Inside = InContainer(address) if self._contained else InFolder(address, programs(address))
        self._name = address.engine
        # A container sees guests come from Docker's bridge.
        self._from = "%" if self._contained else "localhost"
        self.wrong_password = "Access denied for user 'guest'@'" + (
            "" if self._contained else "localhost' (using password: YES)"
        )
        self.admin = MySqlAdmin(address)
        self.title = self.admin.flavour.title
        self._before = bool(self.admin.rows("SHOW DATABASES LIKE 'keybench'"))
        for statement in (
            "DROP DATABASE IF EXISTS keybench",
            "CREATE DATABASE theirs",
            "CREATE TABLE theirs.orders (id INT PRIMARY KEY, note VARCHAR(40))",
            f"INSERT INTO theirs.orders {numbers(1, 100)} SELECT n, concat('note ', n) FROM numbers",
            "CREATE VIEW theirs.seen AS SELECT id FROM theirs.orders",
            "CREATE FUNCTION theirs.one() RETURNS INT DETERMINISTIC RETURN 1",
            "CREATE DATABASE keybench2",
            "CREATE TABLE keybench2.keybench_rows (`key` INT PRIMARY KEY)",
        ):
            self.admin.rows(statement)
        for user in ("guest", "stranger"):
            self.admin.rows(f"CREATE USER {user}@%s IDENTIFIED BY %s", self._from, password)
        self.admin.rows("GRANT ALL ON keybench.* TO guest@%s", self._from)

    def url(self, password: str, user: str = "guest") -> str:
        given = ":" + quote(password, safe="") if password else ""
        at = self._address.parameters
        if self._contained:
            return f"{self._name}://{user}{given}@{at['host']}:{at['port']}"
        return f"{self._name}://{user}{given}@localhost?unix_socket={at['unix_socket']}"

    def dump(self) -> str:
        """All databases with their routines, users and the like, and the server's variables."""
        names = [name for (name,) in self.admin.rows("SHOW DATABASES")]
        own = [name for name in names if name not in {"information_schema", "performance_schema", "mysql", "sys"}]
        text = ""
        where = [] if self._contained else ["--socket", self._address.parameters["unix_socket"]]
        password = {"MYSQL_PWD": self._address.secret.reveal()} if self._address.secret else {}
        for what in (["--databases", *own], SYSTEM[self._name]):
            dump = [*DUMPS[self._name], "--routines", "--events", *where, "--user=root", *what]
            text += self._inside.run(dump, password)
        variables = dict(self.admin.rows("SHOW GLOBAL VARIABLES"))
        return text + "".join(f"{name}={variables[name]}\n" for name in sorted(variables.keys() - VOLATILE))

    def log(self) -> str:
        return self._inside.log()

    def place_is_there(self) -> bool:
        return bool(self.admin.rows("SHOW DATABASES LIKE 'keybench'"))

    def table_is_there(self) -> bool:
        listed = "SELECT 1 FROM information_schema.tables WHERE concat_ws('.', table_schema, table_name) = %s"
        return bool(self.admin.rows(listed, self.table))

    def idle(self) -> bool:
        """Whether no connection of keybench's is left."""
        return not self.admin.rows("SELECT 1 FROM information_schema.processlist WHERE user = 'guest'")

    def make_place(self) -> None:
        """A database of that name, not made by keybench, with a table in it."""
        self.admin.rows("CREATE DATABASE keybench")
        self.admin.rows("CREATE TABLE keybench.trial (id INT PRIMARY KEY)")

    def make_table(self, name: str) -> None:
        """Creates a table of the guest's there, with a row."""
        self.admin.rows(f"CREATE TABLE keybench.{name} (id int, important text)")
        self.admin.rows(f"INSERT INTO keybench.{name} VALUES (1, 'must stay')")

    def drop_place(self) -> None:
        self.admin.rows("DROP DATABASE keybench")

    def close(self) -> None:
        self.admin.rows("DROP DATABASE theirs")
        self.admin.rows("DROP DATABASE keybench2")
        self.admin.rows("DROP USER guest@%s, stranger@%s", self._from, self._from)
        if self._before:
            self.admin.rows("CREATE DATABASE keybench")
        self.admin.close()
