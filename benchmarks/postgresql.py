"""PostgreSQL: our session relative to `psql -f` with the same rows, one text COPY a transaction."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import pairs
from keybench.databases.contract.roles import Address
from keybench.databases.postgresql.ddl import columns, name
from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import EnvironmentMissing
from keybench.model.byteorder import text36
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

TARGET = 1.05
CPU_TARGET = 6.0
LAYOUTS = ("uuid-v4", "uuid-v7")

_CLOCK = b"SELECT extract(epoch FROM clock_timestamp());\n"


def compare(rows: int, repetitions: int) -> Iterator[str]:
    """The lines of this part of the report."""
    settings = ENGINE.settings("durable", "default")
    provision = ENGINE.provision("embedded", settings)
    address = provision.start()
    try:
        yield "\nPostgreSQL: the session's COPY ÷ psql -f with the same COPY"
        values = ", ".join(f"{name}={value}" for name, value in settings.values.items() if "sync" in name)
        yield (
            f"  {rows:,} rows, key + {pairs.PAYLOAD} characters, {pairs.ROWS_PER_TX:,} rows a transaction, "
            f"uuid PRIMARY KEY, {values}, shared_buffers={settings.values['shared_buffers']}"
        )
        with tempfile.TemporaryDirectory() as scratch:
            yield from _measure(address, Path(scratch), rows, repetitions)
    finally:
        provision.stop()


def _measure(address: Address, scratch: Path, rows: int, repetitions: int) -> Iterator[str]:
    admin = ENGINE.admin(address)
    table = Table("benchmark", ENGINE.column("uuid"), pairs.PAYLOAD)
    for layout in LAYOUTS:
        keys, payload = pairs.keys(layout, rows), Payload(table.payload)
        script = scratch / "rows.sql"
        script.write_bytes(_script(table, keys, payload))
        shares: list[float] = []

        def ours() -> float:
            admin.create(table)
            session = ENGINE.session(address, table)
            batches = session.prepare(keys, payload, 0, pairs.ROWS_PER_TX)  # noqa: B023 (called in this iteration)
            seconds, share = pairs.send(session, batches)
            shares.append(share)  # noqa: B023
            session.close()
            pairs.require_rows(admin, table, rows)
            return seconds

        def theirs() -> float:
            admin.create(table)
            seconds = _psql(address, script)  # noqa: B023
            pairs.require_rows(admin, table, rows)
            return seconds

        yield pairs.interleave(repetitions, ours, theirs).line(layout, TARGET)
        share = 100 * median(shares)
        yield f"  {'':<10} client CPU {share:.1f} % of our wall time   {pairs.met(share, CPU_TARGET, ' %')}"
    admin.drop(table)
    admin.close()


def _script(table: Table, keys: Keys, payload: Payload) -> bytes:
    """A script with one COPY a transaction, between two readings of the server's clock."""
    rows = len(keys)
    lines = np.concatenate(
        [
            text36(keys),
            np.full((rows, 1), ord("\t"), np.uint8),
            payload.rows(0, rows),
            np.full((rows, 1), ord("\n"), np.uint8),
        ],
        axis=1,
    )
    copy = f"COPY {name(table)} ({columns(table)}) FROM STDIN;\n".encode()
    parts = [lines[first : first + pairs.ROWS_PER_TX].tobytes() for first in range(0, rows, pairs.ROWS_PER_TX)]
    return _CLOCK + b"".join(copy + part + b"\\.\n" for part in parts) + _CLOCK


def _psql(address: Address, script: Path) -> float:
    """Seconds between the two readings, without the start of psql and its connection."""
    given = address.parameters
    done = subprocess.run(
        [
            f"{given['programs']}/psql",
            *("--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"),
            *(f"--host={given['host']}", f"--port={given['port']}", f"--username={given['user']}"),
            *(f"--file={script}", given["dbname"]),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EnvironmentMissing(f"psql failed: {done.stderr.strip()}. Check the disk, then run again.")
    begin, end = (float(line) for line in done.stdout.split())
    return end - begin
