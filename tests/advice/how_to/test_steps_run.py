"""An application runs while each recipe for a table that exists is followed, on a live server.

Before, between and after the steps, programs of both ages insert rows with children, and all rows, keys and children
are looked up. So wherever the steps stop, nothing is lost. Only between the steps that say so, no program runs.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import apsw
import pytest

from keybench.advice.how_to.existing import Name
from keybench.advice.how_to.statements import add_public_id, create_table, default_of, steps
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.statements import START, STOP, Statement
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.postgresql import connection
from keybench.databases.registry import engine
from keybench.generators.core.layout import layout
from keybench.model.column import Column

pytestmark = pytest.mark.long

Rows = list[tuple[Any, ...]]
Key = tuple[Column, str]
"""Column and layout."""


@dataclass
class Live:
    """A server with an empty schema."""

    on: Engine
    version: str
    run: Callable[[str], Rows]
    """Runs a statement, and gives its rows."""


@pytest.fixture
def live(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Live]:
    name, kind = request.param
    on = engine(name)
    if name == "sqlite":
        with closing(apsw.Connection(":memory:")) as file:
            file.execute("PRAGMA foreign_keys = ON")
            yield Live(on, "", lambda sql: file.execute(sql).fetchall())
    elif name == "postgresql":
        with closing(connection.connect(servers.address(on, kind))) as own:

            def run(sql: str) -> Rows:
                cursor = own.execute(sql)
                return cursor.fetchall() if cursor.description else []

            run("DROP SCHEMA IF EXISTS advised CASCADE; CREATE SCHEMA advised; SET search_path TO advised")
            yield Live(on, str(own.info.server_version // 10_000), run)
            run("DROP SCHEMA advised CASCADE")
    else:
        with closing(MySqlAdmin(servers.address(on, kind))) as admin:
            for sql in ("DROP DATABASE IF EXISTS advised", "CREATE DATABASE advised", "USE advised"):
                admin.rows(sql)
            yield Live(on, str(admin.value("SELECT VERSION()")).split("-")[0], admin.rows)
            admin.rows("DROP DATABASE advised")


def plain(value: object) -> object:
    """A key without the form that its column gives it: a GUID's 32 digits, or a number."""
    if isinstance(value, bytes):
        value = value.decode() if len(value) == 36 else value.hex()
    return value if isinstance(value, int) else str(value).replace("-", "").lower()


@dataclass
class Application:
    """The programs on a table, the user who follows the steps, and what each row's key is to be, by the row's mark."""

    live: Live
    old: Key
    new: Key
    by_clients: bool
    same_keys: bool
    keys: dict[int, object] = field(default_factory=dict)
    stopped: bool = False
    converted: bool = False
    """Whether the column `id` is the new one."""

    def literal(self, column: Column, key: object) -> str:
        """A key in SQL."""
        if isinstance(key, int):
            return str(key)
        if column.form == "text" or column.sql_type == "uuid":
            return f"'{uuid.UUID(str(key))}'"
        return f"'\\x{key}'" if self.live.on.name == "postgresql" else f"x'{key}'"

    def fresh(self, at: Key) -> str:
        """A new key that a client makes, in SQL."""
        column, name = at
        if column.form == "int":
            return "nextval('orders_id_new_seq')"
        return self.literal(column, uuid.uuid4().hex if name == "uuid-v4" else f"0197{uuid.uuid4().hex[4:]}")

    def create(self) -> None:
        column, name = self.old
        for statement in create_table(self.live.on, self.live.version, column, name):
            self.live.run(statement.sql)
        self.live.run("ALTER TABLE orders ADD COLUMN mark int")
        columns = f"mark int, order_id {column.sql_type}"
        foreign = "CONSTRAINT items_order FOREIGN KEY (order_id) REFERENCES orders (id)"
        self.live.run(f"CREATE TABLE items ({columns}, {foreign})")

    def insert(self, key: str | None) -> None:
        """A program inserts a row and its child; without a key, the server makes it."""
        mark = len(self.keys)
        into, values = ("mark", f"{mark}") if key is None else ("id, mark", f"{key}, {mark}")
        self.live.run(f"INSERT INTO orders ({into}) VALUES ({values})")
        ((made,),) = self.live.run(f"SELECT id FROM orders WHERE mark = {mark}")
        self.live.run(f"INSERT INTO items (mark, order_id) SELECT mark, id FROM orders WHERE mark = {mark}")
        self.keys[mark] = plain(made)

    def served(self, at: Key) -> bool:
        return at[0].form == "int" or bool(default_of(self.live.on, self.live.version, *at))

    def live_on(self, *, ended: bool) -> None:
        """All programs that run now insert; then every row is found by its key, and by its child."""
        in_one_column = self.old[0] == self.new[0]
        ages = [self.new] if self.converted else [self.old]
        for age in [*ages, self.new] if in_one_column else ages:
            if age[0].form != "int":
                self.insert(self.fresh(age))
        at = self.new if self.converted or ended else self.old
        if self.served(at) and not (at == self.new and self.by_clients):
            self.insert(None)
            if ended and at[1] == "uuid-v7":
                assert str(self.keys[len(self.keys) - 1])[12] == "7"
        assert {mark: plain(key) for mark, key in self.live.run("SELECT mark, id FROM orders")} == self.keys
        found = self.live.run("SELECT o.mark FROM orders o JOIN items i ON i.order_id = o.id WHERE i.mark = o.mark")
        assert sorted(found) == [(mark,) for mark in self.keys]
        orphan = "7" * 7 if at[0].form == "int" else self.literal(at[0], uuid.uuid4().hex)
        self.refused(f"INSERT INTO items (mark, order_id) VALUES (0, {orphan})")
        self.refused("INSERT INTO orders (id, mark) SELECT id, 0 FROM orders WHERE mark = 0")

    def refused(self, sql: str) -> None:
        with pytest.raises(Exception, match=r"(?i)foreign key|duplicate|unique|non-DEFAULT value"):
            self.live.run(sql)

    def follow(self, recipe: list[Statement]) -> None:
        """Programs run, and the steps are taken one by one."""
        assert recipe
        self.create()
        self.live_on(ended=False)
        for step in recipe:
            if step.sql:
                assert step.confirmed
                self.live.run(step.sql)
                if "CREATE TABLE orders_new" in step.sql:
                    self.live.run("ALTER TABLE orders_new ADD COLUMN mark int")
            else:
                self.take(step.note)
            if self.stopped:
                assert sorted(self.live.run("SELECT mark FROM orders")) == [(mark,) for mark in self.keys]
            else:
                self.live_on(ended=step is recipe[-1])
        self.live_on(ended=True)

    def take(self, note: str) -> None:
        """What a user does at a step that is no statement."""
        sqlite = self.live.on.name == "sqlite"
        if "Fill id_new of old rows" in note:
            for mark, key in self.live.run("SELECT mark, id FROM orders WHERE id_new IS NULL"):
                value = self.literal(self.new[0], plain(key)) if self.same_keys else self.fresh(self.new)
                self.live.run(f"UPDATE orders SET id_new = {value} WHERE mark = {mark}")
        if "Give every child table a column" in note:
            self.live.run(f"ALTER TABLE items ADD COLUMN order_id_new {self.new[0].sql_type}")
            self.fill_children()
        elif "Read the rows of orders" in note:
            self.copy()
        elif STOP in note:
            self.stopped = True
            if not sqlite:
                self.fill_children()
                self.live.run("ALTER TABLE items DROP CONSTRAINT items_order")
        elif START in note:
            self.change_children()
            self.stopped, self.converted = False, True
            old = "SELECT mark, id FROM orders_old" if sqlite else "SELECT mark, id_old FROM orders"
            assert {mark: plain(key) for mark, key in self.live.run(old)} == self.keys
            new = {mark: plain(key) for mark, key in self.live.run("SELECT mark, id FROM orders")}
            assert sorted(new) == list(self.keys)
            assert (new == self.keys) is self.same_keys
            self.keys = dict(sorted(new.items()))
        else:
            assert note.startswith("Deploy the application that makes")

    def fill_children(self) -> None:
        key = "(SELECT id_new FROM orders WHERE orders.id = items.order_id)"
        self.live.run(f"UPDATE items SET order_id_new = {key} WHERE order_id_new IS NULL")

    def change_children(self) -> None:
        if self.live.on.name == "sqlite":
            self.live.run("ALTER TABLE items RENAME TO items_old; ALTER TABLE items_new RENAME TO items")
            return
        self.live.run("ALTER TABLE items RENAME COLUMN order_id TO order_id_old")
        self.live.run("ALTER TABLE items RENAME COLUMN order_id_new TO order_id")
        self.live.run("ALTER TABLE items ADD CONSTRAINT items_new FOREIGN KEY (order_id) REFERENCES orders (id)")

    def copy(self) -> None:
        """On SQLite: the rows of both tables go to new ones."""
        for mark, key in self.keys.items():
            value = self.literal(self.new[0], key) if self.same_keys else self.fresh(self.new)
            value = "NULL" if self.new[0].form == "int" else value
            self.live.run(f"INSERT INTO orders_new (id, mark) VALUES ({value}, {mark})")
        kind = self.new[0].sql_type
        self.live.run(f"CREATE TABLE items_new (mark int, order_id {kind} REFERENCES orders_new (id))")
        self.live.run("INSERT INTO items_new SELECT items.mark, n.id FROM items JOIN orders_new n USING (mark)")


SERVERS = [
    ("postgresql", "local"),
    ("postgresql", "embedded"),
    ("mariadb", "local"),
    ("mysql", "local"),
    ("sqlite", "embedded"),
]
NUMBER = {"sqlite": "integer"}
KEYS = {"postgresql": ["uuid"], "mariadb": ["uuid", "binary16"], "mysql": ["binary16"], "sqlite": ["binary16"]}
RETYPED = {
    "postgresql": [("char36", "uuid"), ("char36-default", "uuid"), ("binary16", "uuid")],
    "mariadb": [("char36", "binary16"), ("varchar36", "uuid"), ("char36-default", "uuid"), ("binary16", "uuid")],
    "mysql": [("char36", "binary16"), ("varchar36", "binary16"), ("char36-default", "binary16")],
    "sqlite": [("char36", "binary16")],
}
"""(column, new column) of each recipe that keeps the keys."""


def recipes() -> Iterator[Any]:
    """(server, option, old column and layout, new ones, whether clients make the keys)."""
    for server in SERVERS:
        name = server[0]
        number = (NUMBER.get(name, "bigint"), "bigint-identity")
        for key in KEYS[name]:
            v4, v7 = (key, "uuid-v4"), (key, "uuid-v7")
            yield server, "switch-rebuild-later", v7, v4, False
            for clients in (False, True):
                for option in ("switch", "switch-rebuild-now", "switch-rebuild-later", "convert"):
                    yield server, option, v4, v7, clients
                yield server, "convert", number, v7, clients
            yield server, "convert", v4, number, False
        for old, new in RETYPED[name]:
            yield server, "switch", (old, "uuid-v4"), (old, "uuid-v7"), True
            for clients in (False, True):
                yield server, "retype", (old, "uuid-v4"), (new, "uuid-v7"), clients


def name_of(value: object) -> str | None:
    return "-".join(value) if isinstance(value, tuple) else None


@pytest.mark.parametrize(
    ("live", "option", "old", "new", "by_clients"), list(recipes()), indirect=["live"], ids=name_of
)
def test_an_application_runs_while_keys_change(
    live: Live, option: Name, old: tuple[str, str], new: tuple[str, str], *, by_clients: bool
) -> None:
    before, after = ((live.on.column(column).sized(layout(name).key_bytes), name) for column, name in (old, new))
    recipe = steps(option, live.on, live.version, before, after, by_clients=by_clients)
    Application(live, before, after, by_clients, same_keys=option == "retype").follow(recipe)


@pytest.mark.parametrize("live", SERVERS, indirect=True, ids=name_of)
def test_an_application_runs_while_a_public_id_is_added(live: Live) -> None:
    key = (live.on.column(NUMBER.get(live.on.name, "bigint")), "bigint-identity")
    application = Application(live, key, key, by_clients=False, same_keys=True)
    application.follow(list(add_public_id(live.on, live.version, *key)))
    made = [plain(row[0]) for row in live.run("SELECT public_id FROM orders")]
    assert len(set(made)) == len(application.keys)
    assert {len(str(key)) for key in made} == {32}
    assert live.on.name == "sqlite" or {str(key)[12] for key in made} == {"4"}
    application.refused("UPDATE orders SET public_id = (SELECT public_id FROM (SELECT * FROM orders LIMIT 1) one)")
