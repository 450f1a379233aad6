"""A user's own PostgreSQL server: other people's tables, and a guest who must give a password."""

import re
from pathlib import Path
from urllib.parse import quote

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.container import KIND
from keybench.databases.postgresql.admin import PostgresAdmin
from tests.databases.inside import InContainer, InFolder, Inside


class Owner:
    """Owns a database on a private server; `guest` may make schemas in it, `stranger` may not."""

    title = "PostgreSQL"
    place_of_its_own = "schema keybench"
    wrong_password = 'password authentication failed for user "guest"'
    table = "keybench.keybench_rows"

    def __init__(self, address: Address, password: str) -> None:
        self._address = address
        self._admin = PostgresAdmin(address)
        given = address.parameters
        self._contained = KIND in given
        self._inside: Inside = InContainer(address) if self._contained else InFolder(address, Path(given["programs"]))
        if not self._contained:  # a container asks for the password of everybody who comes from outside
            self._rules = Path(given["data"]) / "pg_hba.conf"
            self._before = self._rules.read_text()
            self._rules.write_text("local all guest,stranger scram-sha-256\n" + self._before)
        literal = password.replace("'", "''")
        for statement in (
            "SELECT pg_reload_conf()",
            f"CREATE ROLE guest LOGIN PASSWORD '{literal}'",
            f"CREATE ROLE stranger LOGIN PASSWORD '{literal}'",
            "CREATE DATABASE guests OWNER guest",
        ):
            self._admin.rows(statement)
        self.psql(
            "CREATE SCHEMA shop; CREATE TABLE shop.orders (id int PRIMARY KEY, key uuid, note text);"
            "INSERT INTO shop.orders SELECT n, gen_random_uuid(), 'note ' || n FROM generate_series(1, 100) AS n;"
            "CREATE TABLE public.key (key uuid PRIMARY KEY, payload text);"
            "CREATE VIEW seen AS SELECT key FROM public.key;"
            "CREATE SCHEMA keybench2 CREATE TABLE keybench_rows (key int, payload text);"
            "CREATE FUNCTION shop.one() RETURNS int LANGUAGE sql AS 'SELECT 1'; GRANT USAGE ON SCHEMA shop TO guest"
        )

    def url(self, password: str, user: str = "guest") -> str:
        given = ":" + quote(password, safe="") if password else ""
        at = self._address.parameters
        if self._contained:
            return f"postgresql://{user}{given}@{at['host']}:{at['port']}/guests"
        return f"postgresql://{user}{given}@/guests?host={at['host']}&port=5432"

    def psql(self, statement: str) -> str:
        """The output of a statement that the owner of everything runs, unaligned."""
        return self._run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", "guests", "-c", statement)

    def dump(self) -> str:
        """Schema and data of the guests' database, and the objects and settings of the whole server."""
        text = self._run("pg_dump", "guests") + self._run("pg_dumpall", "--globals-only")
        settings = self.psql(
            "SELECT name, setting FROM pg_settings WHERE source NOT IN ('client', 'session') ORDER BY 1"
        )
        return re.sub(r"(?m)^\\(un)?restrict .*$", "", text) + settings  # a random word in each dump

    def log(self) -> str:
        return self._inside.log()

    def place_is_there(self) -> bool:
        return self.psql("SELECT to_regnamespace('keybench') IS NOT NULL") == "t\n"

    def table_is_there(self) -> bool:
        return self.psql(f"SELECT to_regclass('{self.table}') IS NOT NULL") == "t\n"

    def idle(self) -> bool:
        """Whether no connection of keybench's is left."""
        connections = self.psql(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keybench' AND datname = 'guests'"
        )
        return connections == "0\n"

    def make_place(self) -> None:
        """Creates a schema of that name with a table in it. It belongs to the guest, but keybench did not make it."""
        self.psql("SET ROLE guest; CREATE SCHEMA keybench CREATE TABLE trial (id int, key uuid)")

    def make_table(self, name: str) -> None:
        """Creates a table of the guest's there, with a row."""
        self.psql(
            f"SET ROLE guest; CREATE TABLE keybench.{name} (id int, important text);"
            f"INSERT INTO keybench.{name} VALUES (1, 'must stay')"
        )

    def drop_place(self) -> None:
        self.psql("SET client_min_messages = warning; DROP SCHEMA keybench CASCADE")

    def close(self) -> None:
        for statement in ("DROP DATABASE guests WITH (FORCE)", "DROP ROLE guest", "DROP ROLE stranger"):
            self._admin.rows(statement)
        if not self._contained:
            self._rules.write_text(self._before)
            self._admin.rows("SELECT pg_reload_conf()")
        self._admin.close()

    def _run(self, program: str, *arguments: str) -> str:
        given = self._address.parameters
        where = [] if self._contained else ["-h", given["host"], "-p", given["port"]]
        return self._inside.run([program, *where, "-U", given["user"], *arguments])
