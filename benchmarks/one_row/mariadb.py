"""mariadb-slap, and writers that send its statement."""

import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.one_row.native import TEXT, Used, run, write
from keybench.databases.contract.roles import Address
from keybench.databases.core.exchange import Requests
from keybench.databases.core.packing import lines, repeated
from keybench.databases.mysql import servers
from keybench.databases.mysql.ddl import name
from keybench.databases.mysql.flavour import flavour_named
from keybench.databases.mysql.session import MySqlSession
from keybench.errors import EnvironmentMissing
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.runners.writers.processes import WriterPool

_QUERY = b"\x03"
"""COM_QUERY: mariadb-slap sends text."""
_CHARACTERS = "SET NAMES utf8mb4"
"""As our sessions: the server need not convert the text to the table's character set."""


def _statement(table: Table) -> str:
    return f"INSERT INTO {name(table)} (`key`, payload) VALUES (RANDOM_BYTES(16), '{TEXT}')"


class _Inserts(MySqlSession):
    """A session that sends mariadb-slap's statement."""

    def prepare(self, keys: Keys, _payload: Payload, _start: int, _rows_per_tx: int) -> Sequence[object]:
        """The statement, once for each row."""
        text = _QUERY + _statement(self._table).encode()
        return Requests(lines(repeated(len(text).to_bytes(4, "little") + text, len(keys))))


class _Pool(WriterPool):
    """This machine's processes, each with that session."""

    target = staticmethod(partial(write, _Inserts))


class _Slap:
    """mariadb-slap, one thread a client."""

    engine, title, column = "mariadb", "mariadb-slap", "binary16"
    pool: WriterPool = _Pool()

    def program(self, address: Address) -> Path | None:
        """As `Client`."""
        beside = servers.program(flavour_named(address.engine))
        found = shutil.which(self.title, path=beside.parent if beside else None) or shutil.which(self.title)
        return Path(found) if found else None

    def run(self, address: Address, table: Table, clients: int, rows: int) -> Used:
        """As `Client`. The seconds that it prints include the clients' connections: about a millisecond each."""
        given = address.parameters
        printed, cpu = run(
            [
                str(self.program(address)), "--no-defaults", f"--socket={given['unix_socket']}",
                f"--user={given['user']}", f"--create-schema={given['database']}", "--no-drop",
                f"--init-command={_CHARACTERS}",
                f"--query={_statement(table)}", f"--concurrency={clients}", f"--number-of-queries={rows}",
            ]
        )  # fmt: skip
        seconds = re.search(r"Average number of seconds to run all queries: ([\d.]+) seconds", printed)
        if not seconds:
            raise EnvironmentMissing(
                f"{self.title} printed no time: {printed.strip()}. Look into that, then run again."
            )
        return Used(float(seconds[1]), cpu)


CLIENT = _Slap()
