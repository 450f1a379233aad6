"""Results as pandas frames, each in one call: `frames.values("latest")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keybench.errors import EnvironmentMissing
from keybench.results import tidy
from keybench.results.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

_INTEGERS = ("block", "position", "payload", "rows", "writers", "rows_per_tx", "x")
_TYPES = dict.fromkeys(_INTEGERS, "int64") | dict.fromkeys(("seconds", "value", "y"), "float64")
"""Types of the columns that hold numbers; the others hold text."""


def values(*runs: str, results: str = "keybench-results.sqlite") -> pd.DataFrame:
    """A row for each value of these runs (default: `latest`), with the columns `tidy.TRIAL` and `tidy.VALUE`."""
    return _frame(runs, results, points=False)


def series(*runs: str, results: str = "keybench-results.sqlite") -> pd.DataFrame:
    """A row for each point of the series of these runs, with the columns `tidy.TRIAL` and `tidy.POINT`."""
    return _frame(runs, results, points=True)


def runs(results: str = "keybench-results.sqlite") -> pd.DataFrame:
    """A row for each run of the results database, oldest first; facts of its machine in columns `machine_…`."""
    pandas = _pandas()
    with Store.open(results, write=False) as store:
        stored = store.runs()
    fields = ("id", "started", "keybench", "scenario", "profile", "seed", "blocks", "command")
    return pandas.DataFrame(
        [
            {name: getattr(run, name) for name in fields}
            | {f"machine_{name}": value for name, value in run.machine.items()}
            for run in stored
        ]
    )


def typed(rows: list[dict[str, Any]], *, points: bool = False) -> pd.DataFrame:
    """Rows of `tidy.values`, or with `points` rows of `tidy.series`, as a frame with typed columns."""
    pandas = _pandas()
    columns = [*tidy.TRIAL, *(tidy.POINT if points else tidy.VALUE)]
    table = pandas.DataFrame(rows, columns=columns)
    table["started"] = pandas.to_datetime(table["started"], utc=True, format="ISO8601")
    return table.astype({name: _TYPES.get(name, "str") for name in columns if name != "started"})


def _frame(names: tuple[str, ...], results: str, *, points: bool) -> pd.DataFrame:
    """The values of these runs or the points of their series; without a name, those of the latest run."""
    with Store.open(results, write=False) as store:
        return typed(tidy.rows_of(store, names or ("latest",), points=points), points=points)


def _pandas() -> Any:
    """The module pandas, which is optional. Raises EnvironmentMissing without it or what it needs."""
    try:
        import pandas
        import pyarrow  # noqa: F401  (pandas needs it for text columns and for Parquet files)
    except ImportError:
        raise EnvironmentMissing("frames need pandas and pyarrow: pip install 'keybench[frames]'.") from None
    return pandas
