"""The study's runs: each can be planned, and a second one is compared with what is published."""

import re
import subprocess
import sys
import zipfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from keybench.advice.sentences import WITH_UPDATES
from keybench.databases.registry import engine
from keybench.model.table import Table
from keybench.pagemodels.contract import KeepsState
from scripts.study import page
from scripts.study.__main__ import ROOT, StudyRun, differences, make, page_counts, study_runs
from scripts.study.findings import findings
from scripts.study.values import Values
from tests.parameters import first


@pytest.mark.parametrize("run", first(1, study_runs()), ids=lambda run: run.name)
def test_each_run_of_the_study_can_be_planned(run: StudyRun) -> None:
    command = [sys.executable, "-m", "keybench", "run", *run.options, "--dry-run"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert planned.returncode == 0, planned.stderr
    assert "trials in" in planned.stdout + planned.stderr


@pytest.mark.long
def test_a_second_study_has_the_published_page_counts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "quick", "--db", "sqlite", "--server", "model", "--layout", "uuid-v7", "--blocks", "1"]
    small = StudyRun("small", 0.01, options)
    assert make(small, ["--rows", "2000"], tmp_path / "first", tmp_path / "published") == 0
    assert make(small, ["--rows", "2000"], tmp_path / "second", tmp_path / "published") == 0
    assert "small: all page counts are equal to the published ones" in capfd.readouterr().out
    before = page_counts(tmp_path / "published" / "small.zip")
    assert len(before) == 2  # the control and uuid-v7
    wrong = {place: {count + 1 for count in counts} for place, counts in before.items()}
    assert len(differences(before, wrong)) == 2
    assert differences({("sqlite", "uuid-v7"): {1100.0}}, {}) == ["sqlite · uuid-v7: nothing; published 1,100"]


@lru_cache
def published() -> Values:
    """What the published bundles hold."""
    return Values.of_folder(page.BUNDLES)


@lru_cache
def exported(run: str) -> pd.DataFrame:
    """The values of a run as `keybench export` writes them."""
    with zipfile.ZipFile(page.BUNDLES / f"{run}.zip") as bundle, bundle.open("values.csv") as file:
        table = pd.read_csv(file, low_memory=False)
    return table[table["object"] == "key"]


def median(run: str, metric: str, **where: object) -> pd.Series:
    """The values of these trials by block."""
    table = exported(run)
    chosen = table[(table["metric"] == metric) & (table[list(where)] == pd.Series(where)).all(axis=1)]
    assert len(chosen) == chosen["block"].nunique() > 0, (run, metric, where)
    return chosen.set_index("block")["value"]


def ratio(run: str, metric: str, of: dict[str, object], to: dict[str, object], **both: object) -> str:
    """The median of a ratio in the same block, as the page writes it."""
    logs = np.log(median(run, metric, **of, **both) / median(run, metric, **to, **both))
    return f"{np.exp(logs.median()):.2f}"


def times(of: str, to: str, *, run: str, metric: str = "leaf_pages", **both: object) -> str:
    """The ratio of two layouts."""
    return ratio(run, metric, {"layout": of}, {"layout": to}, **both)


SERVERS = ("postgresql", "mariadb", "mysql", "sqlite")
INT, V4, V7 = "bigint-identity", "uuid-v4", "uuid-v7"
GUID = {"database": "mssql", "column": "uniqueidentifier"}
"""Of SQL Server's page model."""
NUMBERS = {
    "random-pages": lambda: [times(V4, V7, run="two-million", database=one) for one in SERVERS],
    "random-time": lambda: [times(V4, V7, run="two-million", metric="insert_seconds", database=one) for one in SERVERS],
    "beyond-memory": lambda: [
        *(
            times(V4, V7, run="beyond-memory", metric="insert_seconds", database=one)
            for one in ("mariadb", "postgresql")
        ),
        *(
            f"{median('beyond-memory', 'pages_read', layout=layout, database=one).median() / rows:.2f}"
            for one, rows in (("mariadb", 3_700_000), ("postgresql", 17_300_000))
            for layout in (V4, V7)
        ),
    ],
    "log": lambda: [
        times(V4, V7, run="two-million", metric="log_bytes", database=one) for one in ("mariadb", "postgresql", "mysql")
    ],
    "bigint": lambda: [
        times(V7, INT, run="two-million", metric=metric, database=one)
        for metric in ("leaf_pages", "insert_seconds")
        for one in SERVERS
    ],
    "column": lambda: [
        *(
            times(one, V4, run="two-million-others", database=name, column=column)
            for name in SERVERS[:3]
            for one in (V7, "efcore-sequential")
            for column in ("binary16-mssql", *(["uuid"] if name == "postgresql" else []))
        ),
        *(
            ratio(
                "two-million-others",
                "insert_seconds",
                {"column": column},
                {"column": "binary16-mssql"},
                layout="efcore-sequential",
                database=name,
            )
            for name, column in (("postgresql", "uuid"), ("mysql", "binary16"), ("sqlite", "binary16"))
        ),
        times(V7, V4, run="mssql-oracle", **GUID),
    ],
    "generators": lambda: [
        *(
            times(one, "efcore-sequential", run="two-million-others", column="binary16-mssql", database=name)
            for one in ("morris", "newsequentialid", "rt-comb-sql")
            for name in SERVERS
        ),
        *(
            times(one, V7, run="two-million-others", database="postgresql", column="uuid")
            for one in ("ulid", "hotguid")
        ),
    ],
    "milliseconds": lambda: [
        times(V7, INT, run=run, database=one)
        for run in ("beyond-memory", "two-million")
        for one in ("mariadb", "postgresql")
    ],
    "lag": lambda: [
        times("efcore-sequential", "rt-comb-sql", run=run, column="binary16-mssql", database=one)
        for run, count in (("azure-lag", 4), ("rolling-restart", 3), ("scale-in-out", 2))
        for one in SERVERS[:count]
    ],
    "lag-mssql": lambda: [
        times("efcore-sequential", "rt-comb-sql", run="mssql-oracle-lag", **GUID),
        times("hotguid-sql", "rt-comb-sql", run="mssql-oracle-lag", **GUID),
        times("efcore-sequential", "rt-comb-sql", run="mssql-oracle-lag", database="oracle", column="binary16-mssql"),
    ],
    "updates": lambda: [
        *(times(V7, V4, run=run, database="postgresql") for run in ("updates-single", "updates-batches")),
        *(times(V7, V4, run="order-lifecycle", database=one) for one in SERVERS),
    ],
    "retention": lambda: [times(V4, V7, run="retention", database=one) for one in SERVERS],
    "switch": lambda: [
        times(V7, V4, run=run, database=one) for run in ("switch-then-rebuild", "switch-from-v4") for one in SERVERS
    ],
    "modelled": lambda: [
        times(V4, "efcore-sequential", run="mssql-oracle", **GUID),
        times(V4, V7, run="mssql-oracle", database="oracle", column="raw16"),
    ],
    "edge": lambda: [
        ratio("one-edge", "leaf_pages", {"writers": 8}, {"writers": 1}, layout=INT, database=one) for one in SERVERS[:3]
    ],
    "not-to-care": lambda: [
        times(V4, V7, run="one-edge", metric="insert_seconds", writers=1, database=one) for one in SERVERS[:3]
    ],
}
"""By finding: its figures, computed from the exported values without keybench's analysis."""


def test_each_finding_has_figures() -> None:
    assert [one.name for one in findings(published())] == list(NUMBERS)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_numbers_of_a_finding_are_in_the_exported_values(name: str) -> None:
    (finding,) = (one for one in findings(published()) if one.name == name)
    written = re.findall(r"\d+\.\d\d", f"{finding.sentence} {finding.elsewhere} {finding.holds} {finding.fails}")
    for number in NUMBERS[name]():
        assert number in written, number


def test_the_page_and_its_pictures_are_those_of_the_bundles() -> None:
    assert page.DOCUMENT.read_text(encoding="utf-8") == page.document(published(), page.others())
    drawn = {f"{one.name}.svg": page.picture(one.picture, one.name) for one in findings(published())}
    stored = {path.name: path.read_text(encoding="utf-8") for path in page.PICTURES.glob("*.svg")}
    assert stored == drawn


def test_no_finding_rests_on_a_disturbed_or_failed_trial() -> None:
    for name, bundle in published().bundles.items():
        assert not [trial.error for trial in bundle.trials if trial.status != "ok"], name
        disturbed = [text for text in bundle.warnings if re.search("Other programs|waited for a disk|hypervisor", text)]
        assert not disturbed, name


def test_the_pages_of_the_site_are_small() -> None:
    assert (page.SITE / "index.html").stat().st_size <= 300_000
    for path in page.SITE.glob("runs/*/index.html"):
        assert path.stat().st_size <= 1_500_000, path


def test_what_advise_says_of_updates_was_measured() -> None:
    runs = {"updates-single": 200_000, "updates-batches": 200_000, "order-lifecycle": 20_000}
    model = engine("postgresql").page_model(Table("t", engine("postgresql").column("uuid"), payload=100))
    for ascends, layout in ((True, V7), (False, V4)):
        times = []
        for run, rows in runs.items():
            order = np.arange(rows) if ascends else np.random.default_rng(1).permutation(rows)
            pages = median(run, "leaf_pages", database="postgresql", layout=layout).median()
            times.append(round(pages / model.insert(order).leaf_pages, 1))
        assert (min(times), max(times)) == WITH_UPDATES[ascends]


def test_what_a_rebuilt_index_gains_by_a_switch_depends_on_its_growth() -> None:
    rows, draw = 200_000, np.random.default_rng(3)
    model = engine("postgresql").page_model(Table("t", engine("postgresql").column("uuid"), payload=100))
    assert isinstance(model, KeepsState)
    old, ratios = draw.random(rows), []
    for more in (10_000, 40_000, 100_000, 200_000):
        pages = []
        for new in (0.006 + np.arange(more) * 1e-12, draw.random(more)):  # UUIDv7 begin with 01: 1/256 and a little
            ranks = np.argsort(np.argsort(np.concatenate([old, new])))
            index = model.state(rows + more)
            index.insert(ranks[:rows])
            index.rebuild(90)
            index.insert(ranks[rows:])
            pages.append(index.stats().leaf_pages)
        ratios.append(f"{pages[0] / pages[1]:.2f}")
    (switch,) = (one for one in findings(published()) if one.name == "switch")
    assert set(ratios) <= set(re.findall(r"\d\.\d\d", switch.sentence + switch.holds)), ratios


def test_a_second_machine_says_the_same_sentence() -> None:
    alone, both = (page.document(published(), others) for others in ({}, {"other": published()}))
    added = set(both.splitlines()) - set(alone.splitlines())
    assert added == {f"- On other: {one.sentence}" for one in findings(published())}


def test_a_finding_whose_run_is_missing_is_left_out() -> None:
    fewer = Values({name: bundle for name, bundle in published().bundles.items() if name != "azure-lag"})
    assert {one.name for one in findings(published())} - {one.name for one in findings(fewer)} == {"lag"}
