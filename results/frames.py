"""Results as pandas frames, each in one call: `frames.values("latest")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keybench.errors import EnvironmentMissing
from keybench.results import export
from keybench.results.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = {"block": "int64", "position": "int64", "payload": "int64", "rows": "int64", "writers": "int64"} | {
    "rows_per_tx": "int64",
    "seconds": "float64",
    "value": "float64",
    "x": "int64",
    "y": "float64",
}


def values(*runs: str, results: str = "keybench-results.sqlite") -> pd.DataFrame:
    """A row for each value of these runs (`latest` where none is named): columns `export.TRIAL` and `export.VALUE`."""
    return typed(_rows(runs, results, along=False))


def series(*runs: str, results: str = "keybench-results.sqlite") -> pd.DataFrame:
    """A row for each point of the series of these runs: columns `export.TRIAL` and `export.POINT`."""
    return typed(_rows(runs, results, along=True), along=True)


def runs(results: str = "keybench-results.sqlite") -> pd.DataFrame:
    """A row for each run of the results database, the oldest first; what is known of its machine as `machine_…`."""
    pandas = _pandas()
    with Store.open(results, write=False) as store:
        found = store.runs()
    plain = ("id", "started", "keybench", "scenario", "profile", "seed", "blocks", "command")
    return pandas.DataFrame(
        [
            {name: getattr(run, name) for name in plain}
            | {f"machine_{name}": value for name, value in run.machine.items()}
            for run in found
        ]
    )


def typed(rows: list[dict[str, Any]], *, along: bool = False) -> pd.DataFrame:
    """Rows of `export.values` or, `along` the trial, of `export.series` as a frame."""
    pandas = _pandas()
    columns = [*export.TRIAL, *(export.POINT if along else export.VALUE)]
    table = pandas.DataFrame(rows, columns=columns)
    table["started"] = pandas.to_datetime(table["started"], utc=True, format="ISO8601")
    kinds = {name: _NUMBERS.get(name, "str") for name in columns if name != "started"}
    return table.astype(kinds)


def _rows(names: tuple[str, ...], results: str, *, along: bool) -> list[dict[str, Any]]:
    with Store.open(results, write=False) as store:
        found = {run.id: run for run in map(store.run, names or ("latest",))}.values()
        return [row for run in found for row in export.rows_of(store, run, along=along)]


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401  (texts of a frame are its, and Parquet files)
    except ImportError:
        raise EnvironmentMissing("frames need pandas and pyarrow: pip install 'keybench[frames]'.") from None
    return pandas
