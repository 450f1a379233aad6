"""MariaDB and MySQL: our session's ways to send rows, relative to the server's own client with the same transactions.

The client's INSERTs of many rows are compared with our arrays (MariaDB) and our prepared INSERTs (MySQL).
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks import pairs
from keybench.databases.contract.roles import Address
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.databases.mysql import servers
from keybench.databases.mysql.ddl import name
from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import flavour_named
from keybench.databases.mysql.session import MySqlSession
from keybench.errors import EnvironmentMissing
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

TARGETS = {"mariadb": 0.80, "mysql": 0.85}
LAYOUTS = ("uuid-v4", "uuid-v7")


def compare(on: MySqlEngine, rows: int, repetitions: int) -> Iterator[str]:
    """The lines of this part of the report; one line with the reason if no server is installed."""
    if reason := on.missing("local"):
        yield f"\n{on.title}: left out, {reason}"
        return
    provision = on.provision("local", on.settings("durable", "default"))
    address = provision.start()
    try:
        yield f"\n{on.title}: our INSERTs ÷ the {on.name} client's"
        wide = f"binary(16) + {pairs.PAYLOAD} characters"
        yield f"  {rows:,} rows, {wide}, {pairs.ROWS_PER_TX:,} rows a transaction, durable settings"
        with tempfile.TemporaryDirectory() as scratch:
            yield from _measure(on, address, Path(scratch), rows, repetitions)
    finally:
        provision.stop()


compare_mariadb, compare_mysql = partial(compare, MARIADB), partial(compare, MYSQL)


def _measure(on: MySqlEngine, address: Address, scratch: Path, rows: int, repetitions: int) -> Iterator[str]:
    admin = on.admin(address)
    table = Table("benchmark", on.column("binary16"), pairs.PAYLOAD)

    def ours(keys: Keys) -> float:
        admin.create(table)
        session = MySqlSession(address, table)
        batches = session.prepare(keys, Payload(table.payload), 0, pairs.ROWS_PER_TX)
        seconds, _ = pairs.send(session, batches)
        session.close()
        pairs.require_rows(admin, table, rows)
        return seconds

    def theirs(script: Path) -> float:
        admin.create(table)
        seconds = _client(address, script)
        pairs.require_rows(admin, table, rows)
        return seconds

    for layout in LAYOUTS:
        keys = pairs.keys(layout, rows)
        script = _script(table, keys, scratch)
        pair = pairs.interleave(repetitions, partial(ours, keys), partial(theirs, script))
        yield pair.line(f"{layout} {on.flavour.way}", TARGETS[on.name])
    admin.drop(table)
    admin.close()


def _script(table: Table, keys: Keys, scratch: Path) -> Path:
    """A script with one statement a transaction."""
    payload = Payload(table.payload).rows(0, len(keys))
    lines: list[bytes] = []
    rows = [f"(x'{bytes(key).hex()}','{bytes(text).decode()}')" for key, text in zip(keys.data, payload, strict=True)]
    for first in range(0, len(rows), pairs.ROWS_PER_TX):
        values = ",".join(rows[first : first + pairs.ROWS_PER_TX])
        lines.append(f"INSERT INTO {name(table)} (`key`, payload) VALUES {values}".encode())
    script = scratch / "script.sql"
    script.write_bytes(b"".join(line + b";\n" for line in lines))
    return script


def _client(address: Address, script: Path) -> float:
    """Seconds of the client's whole run, with its start (about 10 ms)."""
    given = address.parameters
    beside = servers.program(flavour_named(address.engine))
    own = shutil.which(address.engine, path=beside.parent) if beside else None
    command = [own or address.engine, "--no-defaults", "--max-allowed-packet=1G"]
    command += [f"--socket={given['unix_socket']}", f"--user={given['user']}", given["database"]]
    begin = perf_counter()
    with script.open("rb") as statements:
        done = subprocess.run(command, stdin=statements, capture_output=True, check=False)
    if done.returncode:
        raise EnvironmentMissing(
            f"the {address.engine} client failed: {done.stderr.decode('utf-8', 'replace').strip()}"
        )
    return perf_counter() - begin
