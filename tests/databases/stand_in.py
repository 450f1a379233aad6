"""The contract suite for an engine whose servers cannot be had here, on a server that speaks the same protocol.

Everything that the two have in common is the adapter's own code on a real server: tables, columns, loading, reading
back, look-ups, transactions. What only the engine itself has is replaced, and named where that is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.conftest import guids, integers
from keybench.databases.contract_suite.servers import Servers
from keybench.databases.contract_suite.test_columns import (
    test_default_columns_are_native_and_never_imitate_another_server,
    test_keys_that_a_column_refuses_are_refused_by_the_server,
    test_the_server_orders_a_column_as_byteorder_says,
)
from keybench.databases.contract_suite.test_loading import (
    test_a_batch_is_one_transaction_and_a_repeated_key_undoes_it,
    test_a_writer_killed_in_the_middle_leaves_whole_transactions,
    test_batches_hold_the_rows_asked_for,
    test_keys_that_the_server_makes,
    test_rows_are_acknowledged_and_stored_and_drop_removes_them,
    test_rows_are_found_counted_and_deleted,
    test_sending_to_a_dropped_table_is_an_error,
    test_the_bulk_path_loads_all_rows_of_each_transaction_or_is_refused,
    test_verification_reports_lost_changed_added_and_repeated_keys,
)
from keybench.databases.contract_suite.test_probes import (
    test_every_metric_of_pages_log_and_sizes_is_supplied_or_absent_for_a_reason,
)
from keybench.databases.contract_suite.test_table_shapes import test_parents_and_children_are_one_transaction
from keybench.databases.registry import engine
from keybench.model.column import Column
from keybench.model.table import ServerKeys

__all__ = [
    "guids",
    "integers",
    "test_a_batch_is_one_transaction_and_a_repeated_key_undoes_it",
    "test_a_writer_killed_in_the_middle_leaves_whole_transactions",
    "test_batches_hold_the_rows_asked_for",
    "test_default_columns_are_native_and_never_imitate_another_server",
    "test_every_metric_of_pages_log_and_sizes_is_supplied_or_absent_for_a_reason",
    "test_keys_that_a_column_refuses_are_refused_by_the_server",
    "test_keys_that_the_server_makes",
    "test_parents_and_children_are_one_transaction",
    "test_rows_are_acknowledged_and_stored_and_drop_removes_them",
    "test_rows_are_found_counted_and_deleted",
    "test_sending_to_a_dropped_table_is_an_error",
    "test_the_bulk_path_loads_all_rows_of_each_transaction_or_is_refused",
    "test_the_server_orders_a_column_as_byteorder_says",
    "test_verification_reports_lost_changed_added_and_repeated_keys",
]


def fixtures(on: Engine, ordered: Iterable[Column], made: Iterable[ServerKeys]) -> tuple[Any, Any, Any]:
    """The suite's parameters: the columns that both sort alike, all native ones, and layouts that the server makes."""

    def fixture(name: str, values: Iterable[Any]) -> Any:
        mark = pytest.fixture(params=list(values), ids=lambda value: value.name, name=name)
        return mark(lambda request: request.param)

    return fixture("column", ordered), fixture("native", [c for c in on.columns if c.native]), fixture("made", made)


@dataclass(frozen=True)
class StandIn:
    """An engine, and where its adapter runs instead of on a server of its own."""

    engine: Engine
    database: str
    servers: tuple[str, ...]
    """Kinds of servers of that database; the first that can be started here is taken."""
    admin: Any
    """The class of its admin, with what the other database lacks replaced."""

    def address(self, servers: Servers) -> Address:
        """The address of the server, as one of the engine's own. Skips the test where none can be started."""
        other = engine(self.database)
        reasons = {kind: other.missing(kind) for kind in self.servers}
        kind = next((kind for kind, reason in reasons.items() if not reason), "")
        if not kind:
            pytest.skip(" ".join(reasons.values()))
        return replace(servers.address(other, kind), engine=self.engine.name)

    def bench(self, servers: Servers) -> Bench:
        """The server and the adapter's admin."""
        address = self.address(servers)
        return Bench(self.engine, address, self.admin(address))
