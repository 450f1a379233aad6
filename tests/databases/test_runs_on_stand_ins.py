"""A whole run with the adapter of a cluster, on the server that stands in for it: what its trials say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keybench.databases.registry import engine
from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.results.store.database import Store

ROOT = Path(__file__).parents[2]
RUN = """
import importlib, sys
from dataclasses import replace
from keybench import cli
from keybench.databases.registry import engine
from keybench.runners.command import app

stand_in = importlib.import_module(f"tests.databases.{sys.argv[1]}.conftest").STAND_IN
on, other = stand_in.engine, engine(stand_in.database)
kind = next(kind for kind in stand_in.servers if not other.missing(kind))

class Elsewhere:
    def __init__(self):
        self.server = other.provision(kind, other.settings("fast", "small"))
        self.stop, self.alive = self.server.stop, self.server.alive
    def start(self):
        return replace(self.server.start(), engine=on.name)

of = type(on)
of.provision, of.admin = (lambda *_: Elsewhere()), (lambda _, address: stand_in.admin(address))
of.missing = lambda *_: ""
object.__setattr__(on, "servers", ("local",))
cli.run(app, ["--db", on.name, "--server", "local", *sys.argv[2:]])
"""


@pytest.mark.long
@pytest.mark.parametrize(("database", "sharding"), [("cockroachdb", "range"), ("yugabytedb", "hash")])
def test_a_run_counts_retries_and_has_no_pages(
    database: str, sharding: str, variables: dict[str, str], tmp_path: Path
) -> None:
    on = engine(database)
    if all(engine("postgresql").missing(kind) for kind in ("embedded", "local")):
        pytest.skip(engine("postgresql").missing("embedded"))
    options = ("--layout", "uuid-v4", "--rows", "3000", "--blocks", "1")
    done = subprocess.run(
        [sys.executable, "-c", RUN, database, *options],
        cwd=tmp_path, env={**variables, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        timeout=200,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 trials measured, 0 failed." in done.stdout
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        (trial,) = [one for one in store.trials(store.run("latest").id) if one.layout == "uuid-v4"]
    read = {reading.metric: reading for reading in trial.readings if reading.subject == KEY}
    assert (read[Metric.ABORTS].value, read[Metric.DEADLOCKS].value) == (0, 0)
    for metric, why in on.absent.items():
        assert (read[metric].value, read[metric].origin, read[metric].reason) == (None, "absent", why)
    assert (read[Metric.POSITION_MEAN].value is None) == (sharding == "hash")
