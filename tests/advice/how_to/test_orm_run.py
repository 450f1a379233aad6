"""The mappings that are said to be run: each ORM makes the table of its mapping, saves rows, and finds them again.

The column has the type that is said, and holds the key that the program saw: a UUIDv7's bytes in order, or a number.
Django comes from pip, TypeORM and Prisma from npm, else the test is skipped. Our own SQL makes Prisma's table, because
what it makes tables with is in no package of npm.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine, create_engine, inspect
from sqlalchemy.pool import NullPool

from keybench.advice.how_to.orm import orms, snippet
from keybench.advice.how_to.statements import create_table
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.core.ddl import sql_type
from keybench.databases.registry import engine

pytestmark = pytest.mark.long

VERSIONS = {"postgresql": "18", "mysql": "9.7", "mariadb": "10.11", "sqlite": "3"}
CASES = {
    f"{name}-{database}-{entry.keys}-{entry.made_by}": (name, database, entry)
    for name, orm in orms().items()
    for entry in orm.mapping
    for database in entry.run
}
PIP = {"django": ["django==5.2.*", "uuid-utils==1.2.0", "pymysql"], "sqlalchemy": ["uuid-utils==1.2.0"]}
NPM = {
    "typeorm": ["typeorm@1.1.1", "reflect-metadata", "sql.js", "pg", "mysql2", "uuid@14.0.3", "typescript@5"],
    "prisma": ["prisma@7.10.0", "@prisma/client@7.10.0", "@prisma/adapter-pg@7.10.1"],
}
OLDER_PYTHON = """import uuid, uuid_utils.compat
uuid.uuid7 = getattr(uuid, "uuid7", uuid_utils.compat.uuid7)
"""
PROGRAMS = Path(__file__).parent / "orm_programs"
SCHEMA = 'generator client {\n  provider = "prisma-client-js"\n}\n\ndatasource db {\n  provider = "postgresql"\n}\n\n'
TSC = "tsc --experimentalDecorators --skipLibCheck --target es2022 --useDefineForClassFields false --module commonjs"


def run(command: str, *arguments: str, folder: Path, **environment: str) -> list[str]:
    line = [*command.split(), *arguments]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-1000:]
    return done.stdout.split()


def opened(database: str, place: dict[str, str]) -> Engine:
    """SQLAlchemy's way to a database, by the parameters of its driver."""
    drivers = {"postgresql": "postgresql+psycopg://", "sqlite": f"sqlite:///{place.get('path')}"}
    arguments = {name: value for name, value in place.items() if name != "path"}
    url = drivers.get(database, f"{database}+pymysql://")
    return create_engine(url, connect_args=arguments, isolation_level="AUTOCOMMIT", poolclass=NullPool)


@pytest.fixture
def shop(case: str, servers: Servers, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The parameters of a connection to an empty database."""
    database = CASES[case][1]
    if database == "sqlite":
        yield {"path": str(tmp_path / "shop.sqlite")}
        return
    at = servers.address(engine(database), "embedded" if database == "postgresql" else "local").parameters
    place = {name: at[name] for name in ("host", "port", "user", "unix_socket", "dbname") if name in at}
    with opened(database, place).connect() as live:
        live.exec_driver_sql("CREATE DATABASE shop")
        yield {**place, "dbname" if database == "postgresql" else "database": "shop"}
        live.exec_driver_sql("DROP DATABASE shop")


@pytest.mark.parametrize("case", CASES)
def test_a_mapping_makes_its_table_and_its_keys(
    case: str, shop: dict[str, str], installed: Callable[..., Path], tmp_path: Path
) -> None:
    name, database, entry = CASES[case]
    on, by_server, own = engine(database), entry.made_by == "server", opened(database, shop)
    column = next((one for one in on.columns if one.name in entry.columns), on.default_column(entry.keys))
    layout = "bigint-identity" if entry.keys == "int" else "uuid-v7"
    shown = snippet(orms()[name], on, VERSIONS[database], column, layout, by_server=by_server)
    assert shown.notes[-1].startswith("Rests on (keybench's tests run it): ")

    folder = installed("npm" if name in NPM else "pip", *{**NPM, **PIP}[name])
    renamed = {"database" if name in NPM and key == "dbname" else key: value for key, value in shop.items()}
    arguments = [database, json.dumps(renamed)]
    if name in PIP:
        module = tmp_path / ("shop/models.py" if name == "django" else "shop.py")
        module.parent.mkdir(exist_ok=True)
        module.write_text(OLDER_PYTHON + shown.code)
        path = os.pathsep.join([str(folder), str(tmp_path)])
        seen = run(sys.executable, str(PROGRAMS / f"with_{name}.py"), *arguments, folder=tmp_path, PYTHONPATH=path)
    elif name == "typeorm":
        (folder / "shop.ts").write_text(shown.code)
        shutil.copy(PROGRAMS / "with_typeorm.ts", folder)
        run(f"npx {TSC} --noCheck with_typeorm.ts", folder=folder)
        seen = run("node with_typeorm.js", *arguments, folder=folder)
    else:
        created = create_table(on, VERSIONS[database], column, layout, by_clients=not by_server)
        with own.connect() as live:
            live.exec_driver_sql("".join(one.sql for one in created))
        (folder / "schema.prisma").write_text(SCHEMA + shown.code)
        (folder / "prisma.config.mjs").write_text('export default { schema: "schema.prisma" };')
        shutil.copy(PROGRAMS / "with_prisma.js", folder)
        run("npx prisma generate", folder=folder, PRISMA_SCHEMA_ENGINE_BINARY="/bin/true", CHECKPOINT_DISABLE="1")
        seen = run("node with_prisma.js", *arguments, folder=folder)

    (key,) = [one["type"] for one in inspect(own).get_columns("orders") if one["name"] == "id"]
    assert key.compile(own.dialect).lower().removesuffix("(20)") == sql_type(column).lower()
    with own.connect() as live:
        stored = list(live.exec_driver_sql("SELECT id FROM orders ORDER BY id").scalars())
    if entry.keys == "int":
        assert stored == [int(text) for text in seen] == [1, 2]
    else:
        made = [UUID(bytes=key) if isinstance(key, bytes) else UUID(str(key)) for key in stored]
        assert made == sorted(UUID(text) for text in seen)
        assert {key.version for key in made} == {7}
