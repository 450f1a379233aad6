"""Compares page models with live servers: inserts the same keys in the same order into both, and shows differences.

It compares every engine of the registry that has a page model and a server that can be started here, and each version
that `scripts/versions.sh` unpacked, in orders of arrival that tell B-trees apart. It fails if leaf pages or density are
not equal. Its last lines are a table of versions and orders; `--table FILE...` prints that of several earlier outputs.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks import fidelity_table, streams
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.roles import Address
from keybench.databases.contract_suite.servers import using_programs_in
from keybench.databases.hosting import private_server
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, KeybenchError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import Payload
from keybench.model.subject import KEY
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.page_stats import readings

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


def real(
    on: Engine, address: Address, table: Table, keys: Keys
) -> tuple[Mapping[Metric, float], NDArray[np.int64] | None, float]:
    """(what the server's probes read after the keys were inserted, the leaves' page numbers in key order if it tells
    them, rows a second of sending)"""
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
        order = admin.page_order(table)
        admin.drop(table)
        values = {r.metric: r.value for r in probed if r.subject == KEY and r.value is not None}
        return values, order.numbers if order else None, len(keys) / seconds
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
                server, numbers, sent = real(on, address, table, keys)
                what = f"{column.name} {table.key}, payload {table.payload}, {name}"
                moved = 0 if numbers is None else _moved(numbers, stats.page_numbers)
                yield _line(what, server, model, moved, rate / sent)


def _moved(real: NDArray[np.int64], model: NDArray[np.int64]) -> int:
    """How many leaves lie on another page than in the model, which chooses where numbers begin."""
    return int((real - real.min() != model - model.min()).sum()) if len(real) == len(model) else len(real)


def _line(
    what: str, server: Mapping[Metric, float], model: Mapping[Metric, float | None], moved: int, speed: float
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
    if moved:
        parts.append(f"PLACES of {moved:,} leaves")
    return f"  {what}: {' · '.join(parts)}   (model {speed:,.0f} × the server's rate)", equal


def main() -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each load (1000000)")
    parser.add_argument("--db", action="append", help="one database; may be given again (all that can run here)")
    parser.add_argument("--server", default="", help="only this kind of server, such as container (all kinds)")
    parser.add_argument("--stream", action="append", choices=streams.STREAMS, help="one order; may be given again")
    parser.add_argument("--version", default="", help="only servers whose version begins so: 17, 11.8")
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE", help="only print the table of these outputs")
    given = parser.parse_args()
    if given.table:
        print(fidelity_table.markdown("\n".join(file.read_text(encoding="utf-8") for file in given.table)))
        return 0
    lines: list[str] = []
    unequal = done = 0

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    print("real / model / difference where they are not equal, else the one figure of both; shares in %")
    try:
        for on, kind, folder in servers([engine(name) for name in given.db] if given.db else engines().values()):
            if given.server not in ("", kind):
                continue
            with using_programs_in(on.name, folder):
                provision = on.provision(kind, on.settings("fast", "default"))
            try:
                address = provision.start()
                version = _version(on, address)
                heading = fidelity_table.heading(on.title, version, kind, given.rows)
                known = any(line.startswith(f"{on.title} {version},") for line in lines)  # installed and unpacked
                if known or not f"{version}.".startswith(given.version):
                    continue
                print()
                say(heading)
                for line, equal in compared(on, address, given.rows, given.stream or streams.STREAMS):
                    say(line)
                    done, unequal = done + 1, unequal + (not equal)
            finally:
                provision.stop()
        if given.db and not any(engine(name).has_page_model for name in given.db):
            say(f"{' and '.join(engine(name).title for name in given.db)}: no page model, so nothing to compare")
            return 0
        if not done:
            raise EnvironmentMissing(
                "no database with a page model has a server here: keybench doctor says what brings one."
            )
    except KeybenchError as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    print(f"\n{done - unequal} of {done} have the leaf pages and the density of the model\n")
    print(fidelity_table.markdown("\n".join(lines)))
    return 1 if unequal else 0


def servers(chosen: Iterable[Engine]) -> Iterator[tuple[Engine, str, Path | None]]:
    """Engine, server kind and folder of programs of all that can be started here; None for the usual folder."""
    for on in chosen:
        if not on.has_page_model:
            continue
        yield from ((on, kind, None) for kind in on.servers if not on.missing(kind))
        yield from ((on, "local", folder) for folder in private_server.unpacked_folders(on.name))


def _version(on: Engine, address: Address) -> str:
    """The number of the server's version: 10.11.19 of 10.11.19-MariaDB-0+deb12u1."""
    admin = on.admin(address)
    try:
        versions = admin.versions()
    finally:
        admin.close()
    return re.split(r"[^\d.]", versions.get(on.name, next(iter(versions.values()))), maxsplit=1)[0]


if __name__ == "__main__":
    sys.exit(main())
