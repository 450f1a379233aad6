"""SQLite: our session beside a C program that binds and steps the same rows in the same transactions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import pairs
from keybench.databases.engine import Address, Table
from keybench.databases.payload import Payload
from keybench.databases.sqlite import ENGINE

TARGET = 1.05
LAYOUTS = ("uuid-v4", "uuid-v7")

_SOURCE = Path(__file__).with_name("sqlite_peer.c")

Peer = Callable[[Address, Table, Path, int], tuple[float, str]]
"""Loads the rows of a file into the table; seconds, and the version of SQLite."""


def compare(rows: int, repetitions: int) -> Iterator[str]:
    """The lines of this part of the report."""
    provision = ENGINE.provision("embedded", ENGINE.settings("durable", "default"))
    with tempfile.TemporaryDirectory() as scratch:
        program, lacking = _compile(Path(scratch))
        peer: Peer = _stdlib if program is None else _program(program)
        name = "sqlite3 of Python's library (executemany)" if program is None else "a C loop binding and stepping"
        yield f"\nSQLite: apsw session ÷ {name}"
        if lacking:
            yield f"  the C peer cannot be built ({lacking}): Python's own sqlite3 stands in, and the target is not its"
        address = provision.start()
        try:
            yield from _measure(address, peer, Path(scratch), rows, repetitions, TARGET if program else None)
        finally:
            provision.stop()


def _measure(
    address: Address, peer: Peer, scratch: Path, rows: int, repetitions: int, target: float | None
) -> Iterator[str]:
    admin = ENGINE.admin(address)
    table = Table("benchmark", ENGINE.column("binary16"), pairs.PAYLOAD)
    versions = {"ours": admin.versions()["SQLite"]}
    yield (
        f"  {rows:,} rows, key + {table.payload} characters, {pairs.ROWS_PER_TX:,} rows a transaction, "
        f"WITHOUT ROWID, {', '.join(f'{k}={v}' for k, v in (address.settings or _none()).values.items())}"
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
            _check(admin, table, rows)
            return seconds

        def theirs() -> float:
            admin.create(table)
            seconds, versions["peer"] = peer(address, table, file, rows)  # noqa: B023
            _check(admin, table, rows)
            return seconds

        pair = pairs.interleave(repetitions, ours, theirs)
        yield pair.line(name, target or TARGET)
    yield f"  SQLite {versions['ours']} (ours, in apsw), {versions['peer']} (peer): a difference in it is in the ratio"
    admin.drop(table)
    admin.close()
