"""Layouts that only servers make: which there are, where they can be measured, and where not.

Their keys carry the time and the order in which rows really arrive, not the scenario's. So they fit scenarios that only
load, with writers of one kind; where keys must carry planned hours, or where the oldest rows are deleted, they are
refused. The keys are not known beforehand: they are read back, counted, and must all be different.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from keybench.databases.engine import Engine
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError, VerificationError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import ServerKeys
from keybench.runners.trials.verify import Stored
from keybench.scenarios.schema import Scenario

_READS = (Metric.POINT_UNIFORM_US, Metric.POINT_RECENT_US, Metric.RANGE_US_PER_ROW)


def made_by(on: Engine, name: str) -> ServerKeys | None:
    """The layout of that name that the engine's servers make; None where they make none."""
    return next((made for made in on.makes if made.name == name), None)


def known() -> Mapping[str, tuple[str, ...]]:
    """Every such layout by name, with the engines that make it."""
    names = dict.fromkeys(made.name for on in engines().values() for made in on.makes)
    return {name: tuple(on.name for on in engines().values() if made_by(on, name)) for name in names}


def check(names: Iterable[str], databases: Sequence[str], scenario: Scenario) -> None:
    """UsageError where one of the names is a layout that no server of these databases makes, or that does not fit."""
    for name in names:
        if name not in known():
            continue
        if not any(made_by(engine(database), name) for database in databases):
            raise UsageError(f"{name} keys are made by {_either(known()[name])} only: choose one by --db.")
        if reason := _unfit(scenario):
            raise UsageError(
                f"{name} keys do not fit scenario {scenario.name}: {reason}. Choose another --scenario, or a layout "
                "whose keys the client makes."
            )


def _unfit(scenario: Scenario) -> str:
    if scenario.generation:
        return "it makes keys without a database"
    if scenario.after.delete_oldest or scenario.after.refill:
        return "it deletes the oldest rows by their keys, which only the server knows"
    if scenario.table.shards > 1:
        return "its rows go to several tables, each of which would make keys of its own"
    if scenario.table.key in ("by-date", "fk"):
        return "its table has columns or rows beside the key's, and a server's keys are made row by row in one table"
    if scenario.load.path == "bulk":
        return "it loads in bulk, which sends every column"
    if scenario.timed:
        return "its writers have hours of their own in virtual time, and a server's keys carry the server's clock"
    if 0 in scenario.table.payload:
        return "its rows have nothing beside the key, and rows without a key would have nothing at all"
    return ""


def verify(rows: int, found: Iterable[Stored]) -> None:
    """VerificationError unless the table holds so many keys, all different."""
    slices = list(found)
    held = np.concatenate(slices) if slices else np.empty(0, np.int64)
    different = len(np.unique(held, axis=0))
    if (len(held), different) != (rows, rows):
        raise VerificationError(
            f"the table holds {len(held)} rows where {rows} were acknowledged, with {different} different keys."
        )


def without_reads(asked: int) -> list[Reading]:
    """What stands for the look-ups that a scenario asks for."""
    reason = "The server made the keys: there is no list of them in order of arrival to choose from."
    return list(Reading.absent(_READS, reason)) if asked else []


def _either(names: Sequence[str]) -> str:
    return " and ".join(names)
