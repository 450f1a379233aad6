"""What is mutated: a results file of each kind, a baseline, and the scenarios that come with keybench."""

import contextlib
import json
import sqlite3
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from keybench.scenarios.files import scenario_names
from tests.fuzz.harness import Case, run
from tests.fuzz.toml import tree

MODEL = ("--server", "model", "--rows", "600", "--blocks", "2", "--layout", "uuid-v4,uuid-v7")
RESULTS = "r.sqlite"
BASELINE = "b.json"
BUNDLE = "run.zip"
_COMPILING = 280.0


@dataclass(frozen=True)
class Samples:
    """`whole` and `begun` are results files: of a run of page models with positions and page maps, and of the same run
    interrupted. `baseline` is the run's baseline, `bundle` its bundle."""

    whole: bytes
    begun: bytes
    baseline: Any
    bundle: bytes


def samples(folder: Path) -> Samples:
    """Made once, in an empty folder. It compiles the loops that the cases need, which takes longer than any case."""
    for scenario in scenario_names():
        work = ("--scenario", scenario, "--rows", "60", "--blocks", "1", "--layout", "uuid-v7", "--server", "model")
        ending = run(Case(("run", "--db", "sqlite,postgresql", *work, "--results", "w.sqlite")), folder, _COMPILING)
        assert not ending.failure, ending.failure
    _done(Case(("run", "--db", "sqlite,postgresql", *MODEL, "--scenario", "azure-lag", "--results", RESULTS)), folder)
    _done(Case(("check", "latest", "--results", RESULTS, "--baseline", BASELINE, "--update-baseline")), folder)
    _done(Case(("export", "latest", "--bundle", "--results", RESULTS, "-o", BUNDLE)), folder)
    whole, baseline = (folder / RESULTS).read_bytes(), json.loads((folder / BASELINE).read_text(encoding="utf-8"))
    with contextlib.closing(sqlite3.connect(folder / RESULTS)) as database:
        for table in ("value", "series", "blob"):
            database.execute(f"DELETE FROM {table} WHERE trial IN (SELECT id FROM trial WHERE block = 2)")
        database.execute("DELETE FROM trial WHERE block = 2")
        database.commit()
    return Samples(whole, (folder / RESULTS).read_bytes(), baseline, (folder / BUNDLE).read_bytes())


def _done(case: Case, folder: Path) -> None:
    ending = run(case, folder, _COMPILING)
    assert (ending.code, ending.failure) == (0, ""), ending.output + ending.failure


@cache
def scenario_trees() -> tuple[Any, ...]:
    """The scenarios that come with keybench, as trees."""
    folder = Path(__file__).parents[2] / "scenarios"
    return tuple(tree((folder / f"{name}.toml").read_text(encoding="utf-8")) for name in scenario_names())
