"""A user's own MariaDB server: other people's tables, and a guest who must give a password."""

from __future__ import annotations

import subprocess
from pathlib import Path
from urllib.parse import quote

from keybench.databases.contract.roles import Address
from keybench.databases.mysql.admin import MySqlAdmin

VOLATILE = {"timestamp", "gtid_binlog_pos", "gtid_current_pos", "gtid_slave_pos"}


class Owner:
    """Owns a private server; `guest` may do everything in the database keybench, `stranger` nothing."""

    title = "MariaDB"
    place_of_its_own = "database keybench"
    wrong_password = "Access denied for user 'guest'@'localhost' (using password: YES)"
    table = "keybench.keybench_rows"

    def __init__(self, address: Address, password: str) -> None:
        self._address = address
        self.admin = MySqlAdmin(address)
        self._before = bool(self.admin.rows("SHOW DATABASES LIKE 'keybench'"))
        for statement in (
            "DROP DATABASE IF EXISTS keybench",
            "CREATE DATABASE theirs",
            "CREATE TABLE theirs.orders (id INT PRIMARY KEY, note VARCHAR(40))",
            "INSERT INTO theirs.orders SELECT seq, concat('note ', seq) FROM theirs.seq_1_to_100",
            "CREATE VIEW theirs.seen AS SELECT id FROM theirs.orders",
            "CREATE FUNCTION theirs.one() RETURNS INT DETERMINISTIC RETURN 1",
            "CREATE DATABASE keybench2",
            "CREATE TABLE keybench2.keybench_rows (`key` INT PRIMARY KEY)",
        ):
            self.admin.rows(statement)
        for user in ("guest", "stranger"):
            self.admin.rows(f"CREATE USER {user}@localhost IDENTIFIED BY %s", [password])
        self.admin.rows("GRANT ALL ON keybench.* TO guest@localhost")

    def url(self, password: str, user: str = "guest") -> str:
        given = ":" + quote(password, safe="") if password else ""
        return f"mariadb://{user}{given}@localhost?unix_socket={self._address.parameters['unix_socket']}"

    def dump(self) -> str:
        """All databases with their routines, users and the like, and the server's variables."""
        names = [name for (name,) in self.admin.rows("SHOW DATABASES")]
        own = [name for name in names if name not in {"information_schema", "performance_schema", "mysql", "sys"}]
        text = ""
        for what in (["--databases", *own], ["--system=users,plugins,udfs,servers"]):
            done = subprocess.run(
                ["mariadb-dump", "--no-defaults", "--skip-dump-date", "--routines", "--events", "--socket",
                 self._address.parameters["unix_socket"], "--user=root", *what],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), done.stderr
            text += done.stdout
        variables = dict(self.admin.rows("SHOW GLOBAL VARIABLES"))
        return text + "".join(f"{name}={variables[name]}\n" for name in sorted(variables.keys() - VOLATILE))

    def log(self) -> str:
        """The server's log."""
        return (Path(self._address.parameters["data"]).parent / "server.log").read_text(errors="replace")

    def place_is_there(self) -> bool:
        return bool(self.admin.rows("SHOW DATABASES LIKE 'keybench'"))

    def table_is_there(self) -> bool:
        listed = "SELECT 1 FROM information_schema.tables WHERE concat_ws('.', table_schema, table_name) = %s"
        return bool(self.admin.rows(listed, [self.table]))

    def idle(self) -> bool:
        """Whether no connection of keybench's is left."""
        return not self.admin.rows("SELECT 1 FROM information_schema.processlist WHERE user = 'guest'")

    def make_place(self) -> None:
        """A database of that name, not made by keybench, with a table in it."""
        self.admin.rows("CREATE DATABASE keybench")
        self.admin.rows("CREATE TABLE keybench.trial (id INT PRIMARY KEY)")

    def drop_place(self) -> None:
        self.admin.rows("DROP DATABASE keybench")

    def close(self) -> None:
        for statement in (
            "DROP DATABASE theirs",
            "DROP DATABASE keybench2",
            "DROP USER guest@localhost",
            "DROP USER stranger@localhost",
        ):
            self.admin.rows(statement)
        if self._before:
            self.admin.rows("CREATE DATABASE keybench")
        self.admin.close()
