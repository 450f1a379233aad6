"""The gate, end to end: the same run, a planted change, too few blocks, and what is no baseline at all."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keybench.generators.core.layout import layouts
from keybench.model.metric import Metric
from keybench.pagemodels.postgresql import model as pagemodel
from keybench.results.store.database import Store
from keybench.results.store.records import Trial
from tests.results.check.conftest import Check, Model
from tests.results.conftest import a_run, failing, sql

FEW = ("bigint-identity", "uuid-v4", "uuid-v7")
NOTHING_IN_COMMON = (
    "inconclusive: the run and the baseline have nothing in common that was measured under the same conditions. "
    "Repeat the run that the baseline was made from, or add this run to it with --update-baseline."
)


def slower(layout: str, times: float, metric: Metric = Metric.INSERT_SECONDS) -> Callable[[Trial], Trial]:
    """Slows down the trials of that layout; all trials get new noise, so that no two runs are identical."""
    noise = random.Random(5)

    def change(trial: Trial) -> Trial:
        factor = noise.uniform(0.98, 1.02) * (times if trial.layout == layout else 1)
        readings = (
            replace(one, value=one.value * factor) if one.metric == metric and one.value is not None else one
            for one in trial.readings
        )
        return replace(trial, readings=tuple(readings))

    return change


def test_the_same_run_twice_is_0(model: Model, check: Check) -> None:
    model("aaaa")
    written = check("aaaa", "--update-baseline")
    assert (written.returncode, written.stdout, written.stderr) == (0, "base.json: written\n", "")
    again = check("aaaa")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == "no regression: 48 page counts compared, 0 metrics changed.\n"
    assert check("aaaa", "--update-baseline").stdout.endswith("base.json: says so already\n")


def test_a_change_of_a_page_model_is_1(
    model: Model, check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model("aaaa")
    check("aaaa", "--update-baseline")
    monkeypatch.setattr(pagemodel, "LINE_POINTER", 8)  # four bytes more in every entry
    model("bbbb")
    done = check("bbbb", "--summary", "summary.md")
    assert (done.returncode, done.stderr) == (1, "")
    place, scenario = "bigint-identity · bigint", "azure-lag, 8,000 rows, 4 writers"
    *found, verdict = done.stdout.splitlines()
    (line,) = found  # one cause, though it changes many values
    assert line.startswith(f"regression: postgresql (model) · {place} · {scenario}: leaf_pages 22 → 27 (worse); and ")
    assert line.endswith(" more of bigint-identity, rt-comb-postgresql and uuid-v4")
    assert verdict.startswith("regression: 48 page counts compared, ")
    assert verdict.endswith(" If that is intended, accept it with --update-baseline.")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("### ❌ keybench: run bbbb")
    assert summary.endswith("".join(f"    {line}\n" for line in done.stdout.splitlines()) + "\n")
    accepted = check("bbbb", "--update-baseline")
    assert (accepted.returncode, accepted.stdout.splitlines()[-1]) == (0, "base.json: written")
    assert check("bbbb").returncode == 0


def test_a_change_of_a_layout_is_1_also_for_the_better(
    model: Model, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    model("aaaa")
    check("aaaa", "--update-baseline")
    registry = layouts()  # the time goes to the other end of the key, where this column looks first
    planted = replace(registry["rt-comb-sql"], name="rt-comb-postgresql")  # type: ignore[type-var]
    monkeypatch.setitem(registry, "rt-comb-postgresql", planted)  # type: ignore[arg-type]
    model("bbbb")
    done = check("bbbb")
    assert done.returncode == 1
    found = done.stdout.splitlines()[:-1]
    assert {line.split(" · ")[1] for line in found} == {"rt-comb-postgresql"}
    assert {line.split(" ")[1] for line in found} == {"postgresql", "sqlite"}
    assert len(found) == 2


def test_too_few_blocks_are_3(fake_run, check: Check) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=6).close()
    assert check("5ca1", "--update-baseline").returncode == 0
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1, run_id="feed", change=slower("uuid-v4", 1.3)).close()
    done = check("feed")
    assert done.returncode == 3, done.stdout
    place = "sqlite (embedded) · uuid-v4 · binary16 · two-million, 2,000,000 rows"
    assert f"inconclusive: {place}: insert_seconds 2.71× → 3.55× " in done.stdout
    assert "(too few blocks: 1 here, 6 in the baseline, 3 are needed)" in done.stdout
    *_, warning, verdict = done.stdout.splitlines()
    assert warning.startswith("warning: One block is too few to compare times at 5\u00a0%: ")
    assert verdict.endswith(" 2 open. Run more blocks (--blocks).")


def test_a_slower_layout_is_1_and_an_unchanged_one_0(fake_run, check: Check) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=6).close()
    check("5ca1", "--update-baseline")
    fake_run(layouts=FEW, databases=("sqlite",), blocks=6, run_id="beef", change=slower("", 1)).close()
    same = check("beef")
    assert same.returncode == 0
    said = "no regression: 162 page counts compared, 0 metrics changed; 2 ratios compared, 0 worse."
    assert same.stdout.splitlines()[-1] == said
    fake_run(layouts=FEW, databases=("sqlite",), blocks=6, run_id="feed", change=slower("uuid-v4", 1.3)).close()
    worse = check("feed")
    assert worse.returncode == 1
    (line,) = worse.stdout.splitlines()[:-1]
    assert line.startswith("regression: sqlite (embedded) · uuid-v4 · binary16 · two-million, 2,000,000 rows: insert")
    assert line.endswith(", limit 10%)")
    assert check("feed", "--limit", "insert_seconds=50").returncode == 0
    assert check("feed", "--limit", "insert_seconds=none").returncode == 0


def test_one_page_more_in_one_block_is_found(fake_run, check: Check) -> None:
    def one_more(trial: Trial) -> Trial:
        hit = (trial.layout, trial.block, trial.database) == ("uuid-v7", 5, "postgresql")
        readings = (
            replace(one, value=one.value + 1) if hit and one.metric == Metric.BRANCH_PAGES and one.value else one
            for one in trial.readings
        )
        return replace(trial, readings=tuple(readings))

    fake_run(layouts=FEW, databases=("postgresql",), blocks=6).close()
    check("5ca1", "--update-baseline")
    fake_run(layouts=FEW, databases=("postgresql",), blocks=6, run_id="feed", change=one_more).close()
    done = check("feed")
    assert done.returncode == 1
    assert done.stdout.splitlines()[:-1] == [
        "regression: postgresql (embedded) · uuid-v7 · uuid · two-million, 2,000,000 rows: "
        "branch_pages 39 → 40 (worse; block 5, 1 of 6 blocks differ)"
    ]


def test_a_failed_trial_is_1_and_no_baseline(fake_run, check: Check, tmp_path: Path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1).close()
    check("5ca1", "--update-baseline")
    before = (tmp_path / "base.json").read_bytes()
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1, run_id="feed", change=failing("uuid-v4")).close()
    done = check("feed")
    assert done.returncode == 1
    place = "sqlite (embedded) · uuid-v4 · binary16 · two-million, 2,000,000 rows"
    assert done.stdout.splitlines()[0] == f"failed: {place}: block 1: gone"
    refused = check("feed", "--update-baseline")
    assert refused.returncode == 1
    assert refused.stderr == (
        "keybench: 1 of 3 trials of run feed have failed, and a baseline is made of good ones; base.json was left as "
        "it is: fix what failed, and run again.\n"
    )
    assert (tmp_path / "base.json").read_bytes() == before


def test_another_machine_or_version_is_said_and_fails_nothing(fake_run, check: Check, tmp_path: Path) -> None:
    fake_run(layouts=FEW, databases=("postgresql",), blocks=4).close()
    check("5ca1", "--update-baseline")
    fake_run(layouts=FEW, databases=("postgresql",), blocks=4, run_id="feed", change=slower("uuid-v4", 2)).close()
    machine = json.dumps({**a_run().machine, "cores": 4})
    sql(tmp_path / "results.sqlite", "UPDATE run SET machine = ? WHERE id = 'feed'", machine)
    done = check("feed")
    assert done.returncode == 0, done.stdout
    place = "postgresql (embedded) · two-million, 2,000,000 rows"
    assert f"not comparable: {place}: times: cores 4, in the baseline 8\n" in done.stdout
    settings = json.dumps({"shared_buffers": "1GB"})
    sql(tmp_path / "results.sqlite", "UPDATE environment SET settings = ? WHERE run = 'feed'", settings)
    other = check("feed")
    assert (other.returncode, other.stdout.splitlines()[-1]) == (3, NOTHING_IN_COMMON)
    assert "page counts: settings.shared_buffers 1GB, in the baseline 64MB\n" in other.stdout
    assert "times: settings.shared_buffers 1GB, in the baseline 64MB; cores 4, in the baseline 8\n" in other.stdout


def test_what_only_one_side_has_is_said(fake_run, check: Check) -> None:
    fake_run(layouts=FEW[:2], databases=("sqlite",), blocks=1).close()
    check("5ca1", "--update-baseline")
    fake_run(layouts=(FEW[0], FEW[2]), databases=("sqlite",), blocks=1, run_id="feed").close()
    done = check("feed")
    assert done.returncode == 3
    place = "sqlite (embedded) · {} · binary16 · two-million, 2,000,000 rows: "
    assert done.stdout.splitlines() == [
        f"new: {place.format('uuid-v7')}page counts: not in the baseline",
        f"new: {place.format('uuid-v7')}times: not in the baseline",
        f"not measured: {place.format('uuid-v4')}page counts: in the baseline alone",
        f"not measured: {place.format('uuid-v4')}times: in the baseline alone",
        "inconclusive: 9 page counts compared, 0 metrics changed; 2 not measured. "
        "Measure it too, or take it out of the baseline.",
    ]


def test_nothing_in_common_is_neither_pass_nor_regression(model: Model, check: Check) -> None:
    model("aaaa", databases=("sqlite",))
    check("aaaa", "--update-baseline")
    model("bbbb", databases=("sqlite",), rows=4000)
    done = check("bbbb")
    assert done.returncode == 3
    assert done.stdout.splitlines() == [
        "new: sqlite (model) · azure-lag, 4,000 rows, 4 writers: page counts: the baseline has none of this work",
        NOTHING_IN_COMMON,
    ]
    check("bbbb", "--update-baseline")
    assert [check(run).returncode for run in ("aaaa", "bbbb")] == [0, 0]


def test_an_unknown_run_and_an_empty_one(fake_run, check: Check, tmp_path: Path) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1).close()
    check("5ca1", "--update-baseline")
    before = (tmp_path / "base.json").read_bytes()
    with Store.open(str(tmp_path / "results.sqlite"), write=True) as store:
        store.add_run(a_run("e0e0"))

    def refused(run: str) -> str:
        done = check(run, "--update-baseline", "--summary", "summary.md")
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    assert refused("feed").startswith("keybench: no run 'feed' in results.sqlite: use latest, or one of ")
    assert refused("e0e0") == (
        "keybench: run e0e0 holds no trials, so there is nothing to check: go on with "
        "`keybench run --resume e0e0`, or name another run.\n"
    )
    assert (tmp_path / "base.json").read_bytes() == before
    assert not (tmp_path / "summary.md").exists()


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("insert_second=1", "unknown metric 'insert_second'. Did you mean insert_seconds "),
        ("insert_seconds",
         "--limit insert_seconds: write METRIC=PERCENT with a number above 0, as in insert_seconds=10."),
        ("insert_seconds=-3", "--limit insert_seconds=-3: write METRIC=PERCENT with a number above 0"),
        ("leaf_density=3", "--limit leaf_density=3: a higher leaf_density is not worse: limit a metric that"),
    ],
)  # fmt: skip
def test_wrong_limits(fake_run, check: Check, limit: str, message: str) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1).close()
    done = check("latest", "--update-baseline", "--limit", limit)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"keybench: {message}")
