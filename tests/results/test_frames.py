"""Frames of results, also with several runners writing to one database."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from keybench.results import frames
from tests.errors import raised
from tests.results.conftest import failed

FEW = ("bigint-identity", "uuid-v4")


def test_values_and_series_are_typed(fake_run, tmp_path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=2).close()
    where = str(tmp_path / "results.sqlite")
    values = frames.values(results=where)
    numbers = {"block", "position", "payload", "rows", "writers", "rows_per_tx", "seconds", "value"}
    for name, kind in values.dtypes.items():
        expected = "float64" if name in {"seconds", "value"} else "int64" if name in numbers else "str"
        assert name == "started" or str(kind) == expected, name
    assert str(values["started"].dt.tz) == "UTC"
    median = values[values.metric == "insert_seconds"].groupby("layout").value.median()
    assert set(median.index) == set(FEW)
    assert median.notna().all()
    points = frames.series("latest", results=where)
    assert points.groupby(["block", "layout", "metric"]).x.is_monotonic_increasing.all()
    assert frames.runs(where)["id"].tolist() == values["run"].unique().tolist()


def test_a_failed_trial_is_a_row_without_a_value(fake_run, tmp_path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1, change=failed).close()
    where = str(tmp_path / "results.sqlite")
    values = frames.values(results=where)
    assert values[["status", "error"]].drop_duplicates().values.tolist() == [["error", "gone"]]
    assert values["value"].isna().all()
    assert frames.series(results=where).empty


def test_without_pandas_the_error_names_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # type: ignore[arg-type]  # as if it were not installed
    said = raised(EnvironmentMissing, frames.typed, [])
    assert said == "frames need pandas and pyarrow: pip install 'keybench[frames]'."
    assert not isinstance(sys.modules["pandas"], ModuleType)


@pytest.mark.long
def test_two_runners_write_to_one_database_at_once(tmp_path: Path) -> None:
    """Two runners write to one PostgreSQL database at the same time; both runs are complete."""
    own = engine("postgresql")
    kind = next(kind for kind in ("local", "embedded") if not own.missing(kind))
    provision = own.provision(kind, own.settings("fast", "default"))
    address = provision.start()
    try:
        given = address.parameters
        url = f"postgresql://{given['user']}@/{given['dbname']}?host={given['host']}&port={given['port']}"
        environment = os.environ | {"KEYBENCH_RESULTS": url, "NO_COLOR": "1"}

        def run(seed: int) -> subprocess.CompletedProcess[str]:
            folder = tmp_path / str(seed)
            folder.mkdir()
            command = [sys.executable, "-m", "keybench.runners.run", "--db", "sqlite", "--layout", "uuid-v7"]
            command += ["--rows", "2000", "--blocks", "3", "--seed", str(seed)]
            return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

        with ThreadPoolExecutor() as pool:
            done = list(pool.map(run, (1, 2)))
        assert [one.returncode for one in done] == [0, 0], done
        found = frames.runs(url)
        assert sorted(found.seed) == [1, 2]
        values = frames.values(*found.id, results=url)
        assert values.groupby("run").block.nunique().tolist() == [3, 3]
        assert set(values.status) == {"ok"}
        assert values[values.metric == "leaf_pages"].groupby("layout").value.nunique().tolist() == [1, 1]
    finally:
        provision.stop()
