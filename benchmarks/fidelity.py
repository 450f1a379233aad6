"""Compares page models with live servers: inserts the same keys in the same order into both, and shows differences.

It compares every engine of the registry that has a page model and a server that can be started here, in orders of
arrival that tell B-trees apart. It fails if leaf pages or density are not equal.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from benchmarks import streams
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.subject import KEY
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.page_stats import readings
from keybench.pagemodels.predict import predict

SHOWN = {
    Metric.LEAF_PAGES: "leaf",
    Metric.LEAF_DENSITY: "density",
    Metric.LEAF_FRAGMENTATION: "fragmentation",
    Metric.LEAF_NONADJACENT: "not adjacent",
    Metric.APPENDS: "appends",
    Metric.EDGE_SPLITS: "edge",
    Metric.INTERIOR_SPLITS: "interior",
    Metric.BRANCH_PAGES: "branch",
}
EXACT = (Metric.LEAF_PAGES, Metric.LEAF_DENSITY)
_PAYLOADS = (0, 100)
_PROBE_ROWS = 20_000
_CHILDREN = 3
_SLICE, _ROWS_PER_TX = 100_000, 1000
_SAME = 1e-6


def columns(on: Engine) -> list[Column]:
    """The engine's usual columns for GUIDs, GUIDs as text, and integers, each sized for keys of `streams`."""
    chosen = [on.default_column("uuid"), on.default_column("int")]
    chosen += [column for column in on.columns if column.form == "text" and "uuid" in column.kinds][:1]
    return chosen


def tables(on: Engine, column: Column) -> Iterator[Table]:
    """Tables with and without payload, in each key role; roles with the same pages count as one."""
    keys = streams.keys(streams.random(_PROBE_ROWS), column)
    for payload in _PAYLOADS:
        known = set()
        for role in get_args(KeyRole):
            table = Table("fidelity", column, payload, role, children=_CHILDREN if role == "fk" else 1)
            pages = predict(on.page_model(table), column, keys).page_rows.tobytes()
            if pages not in known:
                known.add(pages)
                yield table


def real(on: Engine, address: Address, table: Table, keys: Keys) -> tuple[Mapping[Metric, float], float]:
    """(what the server's probes read after the keys were inserted, rows a second of sending)"""
    admin = on.admin(address)
    try:
        admin.create(table)
        probes = admin.probes()
        for probe in probes:
            probe.before(table)
        session, payload, seconds = on.session(address, table), Payload(table.payload), 0.0
        try:
            for start in range(0, len(keys), _SLICE):
                batches = session.prepare(keys[start : start + _SLICE], payload, start, _ROWS_PER_TX)
                begin = time.perf_counter()
                for batch in batches:
                    session.send(batch)
                seconds += time.perf_counter() - begin
        finally:
            session.close()
        probed = [reading for probe in probes for reading in probe.after(table)]
        admin.drop(table)
        values = {r.metric: r.value for r in probed if r.subject == KEY and r.value is not None}
        return values, len(keys) / seconds
    finally:
        admin.close()


def compared(on: Engine, address: Address, rows: int, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """A line for each table and order of arrival, and whether the index is that of the model."""
    for column in columns(on):
        for table in tables(on, column):
            for name in names:
                keys = streams.keys(streams.STREAMS[name](rows // table.children), column)
                begin = time.perf_counter()
                stats = predict(on.page_model(table), column, keys)
                rate = rows / (time.perf_counter() - begin)
                model = {reading.metric: reading.value for reading in readings(stats)}
                server, sent = real(on, address, table, keys)
                what = f"{column.name} {table.key}, payload {table.payload}, {name}"
                yield _line(what, server, model, rate / sent)


def _line(
    what: str, server: Mapping[Metric, float], model: Mapping[Metric, float | None], speed: float
) -> tuple[str, bool]:
    parts, equal = [], True
    for metric, title in SHOWN.items():
        if metric not in server or metric not in model:  # for example nonadjacent, if a parent's pages lie in between
            continue
        measured, predicted = server[metric], model[metric] or 0.0
        if abs(measured - predicted) <= _SAME:
            parts.append(f"{title} {measured:,.6g}")
        else:
            parts.append(f"{title.upper()} {measured:,.6g} / {predicted:,.6g} / {predicted - measured:+,.4g}")
            equal = equal and metric not in EXACT
    return f"  {what}: {' · '.join(parts)}   (model {speed:,.0f} × the server's rate)", equal


def main() -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each load (1000000)")
    parser.add_argument("--db", action="append", help="one database; may be given again (all that can run here)")
    parser.add_argument("--stream", action="append", choices=streams.STREAMS, help="one order; may be given again")
    given = parser.parse_args()
    unequal = done = 0
    print("real / model / difference where they are not equal, else the one figure of both; shares in %")
    try:
        for on in [engine(name) for name in given.db] if given.db else engines().values():
            for kind in on.servers:
                if not _has_model(on) or on.missing(kind):
                    continue
                provision = on.provision(kind, on.settings("fast", "default"))
                try:
                    address = provision.start()
                    print(f"\n{on.title}, {kind}, {given.rows:,} rows", flush=True)
                    for line, equal in compared(on, address, given.rows, given.stream or streams.STREAMS):
                        print(line, flush=True)
                        done, unequal = done + 1, unequal + (not equal)
                finally:
                    provision.stop()
        if not done:
            raise EnvironmentMissing(
                "no database with a page model has a server here: keybench doctor says what brings one."
            )
    except KeybenchError as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    print(f"\n{done - unequal} of {done} have the leaf pages and the density of the model")
    return 1 if unequal else 0


def _has_model(on: Engine) -> bool:
    try:
        on.page_model(Table("fidelity", on.default_column("uuid"), 0))
    except UsageError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
