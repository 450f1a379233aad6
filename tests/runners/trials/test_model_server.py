"""Cache and log behind a page model: `--ram` and `--checkpoint`."""

from __future__ import annotations

from pathlib import Path

import pytest

from keybench.model.metric import Metric
from keybench.model.subject import KEY
from keybench.pagemodels.costs.plain_cache import NOTE
from keybench.results.analysis.groups import group_trials
from keybench.results.plots.canvas import styles
from keybench.results.report.figures import group_figures
from keybench.results.store import blobs
from keybench.results.store.database import Store
from tests.runners.conftest import Run

SMALL = ("--db", "postgresql", "--server", "model", "--layout", "uuid-v4", "--blocks", "1")


def test_a_cache_that_is_too_small_is_seen_in_figures_and_picture(here: Run, tmp_path: Path) -> None:
    done = here(*SMALL, "--ram", "2MB", "--scenario", "beyond-cache", "--rows", "150000")
    assert (done.returncode, done.stderr) == (0, "")
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        run = store.run("latest")
        trials = store.trials(run.id, blobs=True)
    read = {
        one.layout: next(r for r in one.readings if (r.metric, r.subject) == (Metric.PAGES_READ, KEY)) for one in trials
    }
    assert {reading.origin for reading in read.values()} == {"modelled"}
    assert 40_000 < (read["uuid-v4"].value or 0) < 150_000
    assert (read["bigint-identity"].value or 0) < 100
    course = next(blob for one in trials for blob in one.blobs if one.layout == "uuid-v4" and blob.kind == blobs.COST)
    assert course.about["cache_bytes"] == 2 << 20
    assert course.arrays["pages_read"][-1] == read["uuid-v4"].value
    (group,) = group_trials(run, trials, [])
    found = group_figures(group, styles([arm.layout for arm in group.arms], "bigint-identity"), "g")
    picture = next(one for one in found if one.key.endswith("beyond-memory"))
    assert picture.svg
    assert picture.origin == "Modelled."
    assert "The server's cache has 2 MB." in picture.caption
    assert "A row costs a twentieth of a page read or more: uuid-v4 at" in picture.caption


def test_a_cache_that_holds_all_is_said_to(here: Run) -> None:
    done = here(*SMALL, "--ram", "1GB", "--rows", "5000", "--dry-run")
    assert "PostgreSQL: a cache of 1 GB holds all of 5,000 rows (about " in done.stdout
    assert "so nothing is read." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--db", "postgresql", "--ram", "1GB"),
            "--ram is for page models, and PostgreSQL runs on a server that has its own: leave it out, or choose "
            "--server model.",
        ),
        (
            ("--db", "sqlite", "--checkpoint", "1GB"),
            "--checkpoint is for page models, and SQLite runs on a server that has its own: leave it out, or choose "
            "--server model.",
        ),
        ((*SMALL, "--ram", "99x"), "--ram '99x' is no size: write it as 512MB or 64GB."),
        ((*SMALL, "--ram", "100KB"), "a cache of 102,400 bytes has fewer than 100 pages: give it more memory."),
    ],
)
def test_sizes_that_make_no_sense(refused: Run, arguments: tuple[str, ...], message: str) -> None:
    done = refused(*arguments)
    assert (done.returncode, " ".join(done.stderr.split())) == (2, f"keybench: {message}")


def test_reads_after_a_restart_say_where_the_cache_is_a_plain_one(here: Run, tmp_path: Path) -> None:
    arguments = ("--server", "model", "--layout", "uuid-v4", "--scenario", "cold-start", "--rows", "5000")
    done = here("--db", "mssql,postgresql", *arguments, "--blocks", "1")
    assert (done.returncode, done.stderr) == (0, "")
    with Store.open(str(tmp_path / "keybench-results.sqlite"), write=False) as store:
        trials = store.trials(store.run("latest").id)
    known = {
        one.database: [
            (r.subject.name, r.reason) for r in one.readings if r.metric == Metric.PAGES_READ and r.value is not None
        ]
        for one in trials
    }
    assert known == {
        name: [("1 insert", note), ("3 insert", note)] for name, note in (("mssql", NOTE), ("postgresql", ""))
    }
