"""pgbench, and writers that send its statement."""

import re
import tempfile
from functools import partial
from pathlib import Path

from psycopg import pq

from benchmarks.one_row.native import TEXT, Used, run, write
from keybench.databases.contract.roles import Address
from keybench.databases.core.exchange import Requests
from keybench.databases.postgresql import wire
from keybench.databases.postgresql.ddl import name
from keybench.databases.postgresql.session import PostgresSession
from keybench.errors import EnvironmentMissing
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.runners.writers.processes import WriterPool


def _statement(table: Table, text: str) -> str:
    return f"INSERT INTO {name(table)} (key, payload) VALUES (gen_random_uuid(), {text})"


class _Inserts(PostgresSession):
    """A session that sends pgbench's statement."""

    def __init__(self, address: Address, table: Table) -> None:
        super().__init__(address, table)
        self._expect(self._raw.prepare(wire.STATEMENT, _statement(table, "$1").encode()), pq.ExecStatus.COMMAND_OK)

    def prepare(self, keys: Keys, payload: Payload, start: int, _: int) -> Requests:
        """The text, once for each row."""
        return wire.pack_requests(payload.rows(start, len(keys)))


class _Pool(WriterPool):
    """This machine's processes, each with that session."""

    target = staticmethod(partial(write, _Inserts))


class _Pgbench:
    """pgbench with prepared statements, one thread a client."""

    engine, title, column = "postgresql", "pgbench", "uuid"
    pool: WriterPool = _Pool()

    def program(self, address: Address) -> Path | None:
        """As `Client`."""
        program = Path(address.parameters["programs"], "pgbench")
        return program if program.exists() else None

    def run(self, address: Address, table: Table, clients: int, rows: int) -> Used:
        """As `Client`. The seconds are from the rate that pgbench prints without connection time."""
        given = address.parameters
        with tempfile.TemporaryDirectory() as scratch:
            script = Path(scratch, "insert.sql")
            script.write_text(_statement(table, f"'{TEXT}'") + ";\n")
            printed, cpu = run(
                [
                    str(self.program(address)), "--no-vacuum", "--protocol=prepared", f"--client={clients}",
                    f"--jobs={clients}", f"--transactions={rows // clients}", f"--file={script}",
                    f"--host={given['host']}", f"--port={given['port']}", f"--username={given['user']}",
                    given["dbname"],
                ]
            )  # fmt: skip
        rate = re.search(r"tps = ([\d.]+) \(without initial connection time\)", printed)
        if not rate:
            raise EnvironmentMissing(f"pgbench printed no rate: {printed.strip()}. Look into that, then run again.")
        return Used(rows / float(rate[1]), cpu)


CLIENT = _Pgbench()
