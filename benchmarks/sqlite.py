"""SQLite: our session relative to a C program that binds and steps the same rows in the same transactions."""

import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import pairs
from keybench.databases.contract.roles import Address
from keybench.databases.sqlite.connection import TableFiles, settings_of
from keybench.databases.sqlite.ddl import Statements
from keybench.databases.sqlite.engine import ENGINE
from keybench.errors import EnvironmentMissing
from keybench.model.payload import Payload
from keybench.model.table import Table

TARGET = 1.05
LAYOUTS = ("uuid-v4", "uuid-v7")

_SOURCE = Path(__file__).with_name("sqlite_peer.c")

Peer = Callable[[Address, Table, Path, int], tuple[float, str]]
"""Loads the rows of a file into the table. Returns (seconds, version of SQLite)."""


def compare(rows: int, repetitions: int) -> Iterator[str]:
    """The lines of this part of the report."""
    provision = ENGINE.provision("embedded", ENGINE.settings("durable", "default"))
    with tempfile.TemporaryDirectory() as scratch:
        program, lacking = _compile(Path(scratch))
        peer: Peer = _library if program is None else _native(program)
        name = "sqlite3 of Python's library (executemany)" if program is None else "a C loop binding and stepping"
        yield f"\nSQLite: apsw session ÷ {name}"
        if lacking:
            yield f"  the C peer cannot be built ({lacking}): Python's sqlite3 takes its place; ignore the target"
        address = provision.start()
        try:
            yield from _measure(address, peer, Path(scratch), rows, repetitions)
        finally:
            provision.stop()


def _measure(address: Address, peer: Peer, scratch: Path, rows: int, repetitions: int) -> Iterator[str]:
    admin = ENGINE.admin(address)
    table = Table("benchmark", ENGINE.column("binary16"), pairs.PAYLOAD)
    versions = {"ours": admin.versions()["SQLite"]}
    yield (
        f"  {rows:,} rows, key + {table.payload} characters, {pairs.ROWS_PER_TX:,} rows a transaction, "
        f"WITHOUT ROWID, {', '.join(f'{name}={value}' for name, value in settings_of(address).values.items())}"
    )
    for name in LAYOUTS:
        keys, payload = pairs.keys(name, rows), Payload(table.payload)
        file = scratch / "rows"
        file.write_bytes(np.ascontiguousarray(table.column.encode(keys)).tobytes() + payload.rows(0, rows).tobytes())

        def ours() -> float:
            admin.create(table)
            session = ENGINE.session(address, table)
            batches = session.prepare(keys, payload, 0, pairs.ROWS_PER_TX)  # noqa: B023 (called in this iteration)
            seconds, _ = pairs.send(session, batches)
            session.close()
            pairs.require_rows(admin, table, rows)
            return seconds

        def theirs() -> float:
            admin.create(table)
            seconds, versions["peer"] = peer(address, table, file, rows)  # noqa: B023
            pairs.require_rows(admin, table, rows)
            return seconds

        yield pairs.interleave(repetitions, ours, theirs).line(name, TARGET)
    yield f"  SQLite {versions['ours']} (ours, in apsw), {versions['peer']} (peer): other versions, other ratios"
    admin.drop(table)
    admin.close()


def _compile(folder: Path) -> tuple[Path | None, str]:
    """Builds the C peer in a folder. Returns (the program, ""), or (None, the reason)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None, "no C compiler: apt-get install gcc libsqlite3-dev"
    program = folder / "peer"
    built = subprocess.run(
        [compiler, "-O2", "-o", program, _SOURCE, "-lsqlite3"], capture_output=True, text=True, check=False
    )
    if built.returncode:
        return None, "apt-get install libsqlite3-dev" if "sqlite3.h" in built.stderr else built.stderr.strip()
    return program, ""


def _pragmas(address: Address) -> list[str]:
    return [f"PRAGMA {name}={value}" for name, value in settings_of(address).values.items()]


def _database(address: Address, table: Table) -> Path:
    return TableFiles(Path(address.parameters["folder"]), table.name).database


def _native(program: Path) -> Peer:
    def load(address: Address, table: Table, file: Path, rows: int) -> tuple[float, str]:
        arguments = [_database(address, table), Statements(table).insert, file, rows, table.payload, pairs.ROWS_PER_TX]
        done = subprocess.run(
            [program, *map(str, arguments), *_pragmas(address)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise EnvironmentMissing(f"the C peer failed: {done.stderr.strip()}. Check the disk, then run again.")
        seconds, version = done.stdout.split()
        return float(seconds), version

    return load


def _library(address: Address, table: Table, file: Path, rows: int) -> tuple[float, str]:
    """Loads with Python's own sqlite3, which every machine has."""
    data = file.read_bytes()
    texts, width = data[16 * rows :].decode("ascii"), table.payload
    values = [(data[16 * i : 16 * i + 16], texts[width * i : width * i + width]) for i in range(rows)]
    connection = sqlite3.connect(_database(address, table), isolation_level=None)
    for pragma in _pragmas(address):
        connection.execute(pragma)
    begin = time.perf_counter()
    for first in range(0, rows, pairs.ROWS_PER_TX):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(Statements(table).insert, values[first : first + pairs.ROWS_PER_TX])
        connection.execute("COMMIT")
    seconds = time.perf_counter() - begin
    connection.close()
    return seconds, sqlite3.sqlite_version
