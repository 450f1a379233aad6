"""An embedded server with tables that are loaded as in a trial."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from keybench.databases.contract.roles import Address, Admin, Session
from keybench.databases.sqlite.engine import ENGINE
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import PayloadLengths
from keybench.model.reading import Reading
from keybench.model.table import KeyRole, Table
from tests.databases.loading import measured


def random_keys(n: int, seed: int = 1) -> Keys:
    return Keys(np.random.Generator(np.random.PCG64(seed)).integers(0, 256, (n, 16), np.uint8), "uuid")


def ascending_keys(n: int) -> Keys:
    data = random_keys(n).data
    data[:, :8] = np.arange(n, dtype=">u8")[:, None].view(np.uint8)
    return Keys(data, "uuid")


def integers(n: int) -> Keys:
    return Keys(np.arange(1, n + 1, dtype=np.int64), "int")


@dataclass
class Bench:
    """One server and what a trial does on it."""

    address: Address
    admin: Admin
    keys: dict[str, Callable[..., Keys]] = field(
        default_factory=lambda: {"random": random_keys, "ascending": ascending_keys, "integers": integers}
    )

    def table(
        self, column: str, payload: int | PayloadLengths = 0, key: KeyRole = "clustered", name: str = "rows"
    ) -> Table:
        lengths = payload if isinstance(payload, PayloadLengths) else None
        width = payload.most if isinstance(payload, PayloadLengths) else payload
        return Table(name, ENGINE.column(column), width, key, lengths=lengths)

    def session(self, table: Table, **pragmas: str) -> Session:
        return ENGINE.session(self.changed(**pragmas), table)

    def changed(self, **pragmas: str) -> Address:
        values = {**self.address.settings.values, **pragmas}
        return replace(self.address, settings=replace(self.address.settings, values=values))

    def load(self, table: Table, keys: Keys, rows_per_tx: int = 1000, **pragmas: str) -> Mapping[Metric, Reading]:
        """Creates the table, loads it through one session, and probes it."""
        return measured(self.admin, table, keys, self.changed(**pragmas), rows_per_tx)


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    provision = ENGINE.provision("embedded", ENGINE.settings("durable", "default"))
    address = provision.start()
    admin = ENGINE.admin(address)
    yield Bench(address, admin)
    admin.close()
    provision.stop()
