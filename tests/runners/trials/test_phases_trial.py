"""Runs whose index has a past: on servers, by the page model alone, and in the report."""

from pathlib import Path

import numpy as np
import pytest

from keybench.model.metric import Metric
from keybench.model.subject import KEY, MODEL, SubjectKind
from keybench.results.report.page import render
from keybench.results.store.records import Trial
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.trials.phase_figures import PresentKeys, Step, rows_left, steps
from keybench.scenarios.files import parse_scenario
from keybench.scenarios.index_phases import What
from tests.runners.conftest import Run, latest_trials, results

MINE = """title = "A past"
rows = 9000
start = 2026-01-01T00:00:00Z
[[phase]]
insert = 0.5
[[phase]]
delete = { oldest = 0.3 }
[[phase]]
clean = true
[[phase]]
insert = 0.2
[[phase]]
delete = { random = 0.2 }
[[phase]]
rebuild = { fill = 80 }
[[phase]]
insert = 0.3
"""
CHECKED = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION, Metric.APPENDS)


def figures(trial: Trial, kind: SubjectKind) -> dict[tuple[str, Metric], float | None]:
    return {(r.subject.name, r.metric): r.value for r in trial.readings if r.subject.kind == kind}


def test_every_phase_on_a_server_is_as_predicted_and_the_report_shows_it(here: Run, tmp_path: Path) -> None:
    mixed = MINE.replace("insert = 0.5", "build = { share = 0.5, fill = 70 }")
    mixed = mixed.replace("insert = 0.2", 'insert = 0.2\nlayout = "uuid-v4"')
    (tmp_path / "mine.toml").write_text(mixed.replace("0.3\n", "0.3\ndays_ahead = -1\n"), encoding="utf-8")
    arguments = ("--scenario", "mine.toml", "--layout", "uuid-v7", "--rows", "6000")
    done = here("--db", "postgresql", "--server", "embedded", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = {trial.layout: trial for trial in latest_trials(tmp_path)}
    assert len(measured) == 2
    for trial in measured.values():
        server, model = figures(trial, SubjectKind.PHASE), figures(trial, SubjectKind.MODEL_PHASE)
        assert {name for name, _ in server} == {name for name, _ in model}
        assert "1 build" in {name for name, _ in server}
        assert len({name for name, _ in server}) == 7
        known = {about: value for about, value in model.items() if about[1] != Metric.REBUILD_FREES}
        assert known == {about: pytest.approx(server[about], abs=1e-9) for about in known}
        assert (model["6 rebuild", Metric.REBUILD_FREES] or 0) > 5
        assert server["4 insert", Metric.STRANDED] is not None
        assert {metric for _, metric in server} >= {*CHECKED, Metric.LOG_BYTES, Metric.PHASE_SECONDS}
        whole = {(r.subject, r.metric): r.value for r in trial.readings}
        assert whole[KEY, Metric.APPENDS] == whole[MODEL, Metric.APPENDS]
        assert whole[KEY, Metric.APPENDS] == sum(server[f"{n} insert", Metric.APPENDS] or 0 for n in (4, 7))
        assert whole[KEY, Metric.LEAF_PAGES] == server["7 insert", Metric.LEAF_PAGES]
    with results(tmp_path) as store:
        html = render(store, [store.run("latest").id])
    assert "The index after each phase" in html
    assert "Density along the phases" in html
    done = here("--db", "postgresql", "--server", "model", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        alone = figures(trial, SubjectKind.PHASE)
        beside = figures(measured[trial.layout], SubjectKind.MODEL_PHASE)
        assert {about: value for about, value in alone.items() if about[1] != Metric.PHASE_ROWS} == beside
        assert {alone[name, Metric.PHASE_ROWS] for name in ("4 insert", "5 delete")} == {1200, 660}


def test_every_phase_on_sqlite_is_as_predicted_to_the_page(here: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE.replace(" fill = 80 ", ""), encoding="utf-8")
    done = here("--db", "sqlite", "--scenario", "mine.toml", "--layout", "uuid-v4", "--rows", "4500")
    assert done.returncode == 0, done.stdout + done.stderr
    measured = latest_trials(tmp_path)
    assert sorted(trial.column for trial in measured) == ["binary16", "integer"]
    for trial in measured:
        server, model = figures(trial, SubjectKind.PHASE), figures(trial, SubjectKind.MODEL_PHASE)
        of_pages = {about: value for about, value in server.items() if about in model}
        assert of_pages == {about: pytest.approx(model[about], abs=1e-9) for about in of_pages}
        assert len(of_pages) == 5 * 7 + len([about for about in server if about[1] == Metric.STRANDED])
        assert (server["6 rebuild", Metric.LEAF_DENSITY] or 0) > 95
        assert (server["6 rebuild", Metric.LOG_BYTES] or 0) > 9 * 4096


@pytest.mark.long
def test_tables_without_such_a_model_are_measured_and_say_so(here: Run, tmp_path: Path) -> None:
    long = MINE.replace("[[phase]]", "[table]\npayload = 5000\n[[phase]]", 1).replace(" fill = 80 ", "")
    (tmp_path / "mine.toml").write_text(long, encoding="utf-8")
    done = here("--db", "sqlite", "--scenario", "mine.toml", "--layout", "uuid-v7", "--rows", "500")
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        assert len(figures(trial, SubjectKind.PHASE)) > 6
        (missing,) = [r for r in trial.readings if r.subject == MODEL and r.value is None]
        assert missing.reason == (
            "No prediction: the page model of SQLite knows no past of rows with overflow pages, as a payload of 5,000 "
            "characters makes them: give a shorter one."
        )


def test_sql_server_and_oracle_are_predicted_without_a_server(here: Run, tmp_path: Path) -> None:
    """Oracle's NUMBERs too, whose entries have different sizes."""
    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8")
    done = here(
        "--db", "mssql,oracle", "--server", "model", "--scenario", "mine.toml", "--rows", "4000", "--layout", "uuid-v7"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        after = figures(trial, SubjectKind.PHASE)
        rebuilt = after["6 rebuild", Metric.LEAF_DENSITY]
        assert 75 < rebuilt < 81, trial.database  # the last of few pages is not full


def test_what_a_database_cannot_do_is_refused_before_the_start(here: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8")
    done = here("--db", "sqlite", "--server", "model", "--scenario", "mine.toml", "--layout", "uuid-v7")
    assert (done.returncode, done.stderr.strip()) == (
        2,
        "keybench: SQLite builds an index only at 100 %, and scenario mine wants 80 %: leave sqlite out of --db, or "
        "fill out of the scenario.",
    )
    assert not (tmp_path / "keybench-results.sqlite").exists()


def test_each_phase_that_inserts_needs_a_row(here: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE.replace(" fill = 80 ", ""), encoding="utf-8")
    done = here("--db", "sqlite", "--scenario", "mine.toml", "--rows", "4", "--layout", "uuid-v7")
    said = "keybench: 4 rows are too few for the phases of scenario mine: give 5."
    assert (done.returncode, done.stderr.strip()) == (2, said)


COLD = """title = "Cold"
rows = 9000
start = 2026-01-01T00:00:00Z
[[phase]]
insert = 0.9
[[phase]]
restart = true
[[phase]]
insert = 0.1
"""


@pytest.mark.long
def test_a_server_that_starts_again_reads_the_pages_that_are_touched(here: Run, tmp_path: Path) -> None:
    (tmp_path / "cold.toml").write_text(COLD, encoding="utf-8")
    arguments = ("--scenario", "cold.toml", "--layout", "uuid-v4,uuid-v7", "--rows", "60000", "--blocks", "1")
    done = here("--db", "postgresql,sqlite", "--server", "embedded", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        server, model = (figures(trial, kind) for kind in (SubjectKind.PHASE, SubjectKind.MODEL_PHASE))
        assert (server["2 restart", Metric.PHASE_SECONDS] or 0) > 0
        read = server["3 insert", Metric.PAGES_READ]
        if trial.layout == "uuid-v4":  # 300 leaves on PostgreSQL, 2,000 on SQLite, nearly all of which are touched
            expected = model["3 insert", Metric.PAGES_READ]
            catalog = 0 if trial.database == "sqlite" else 400
            assert expected > 250
            assert -1 <= read - expected <= catalog + 1
        elif trial.layout == "uuid-v7":
            assert (model["3 insert", Metric.PAGES_READ] or 0) < 20


def test_only_servers_that_keybench_starts_are_started_again(here: Run, tmp_path: Path) -> None:
    (tmp_path / "cold.toml").write_text(COLD, encoding="utf-8")
    url = "postgresql://me@127.0.0.1:1/mine"
    done = here("--db", "postgresql", "--server", url, "--scenario", "cold.toml", "--layout", "uuid-v4")
    assert done.returncode == 2
    assert " ".join(done.stderr.split()) == (
        "keybench: scenario cold restarts the server of PostgreSQL, which keybench does only with one that it starts "
        "itself, outside of a container: choose --server local or embedded."
    )


TEXT = """title = "t"
rows = 1000
start = 2026-01-01T00:00:00Z
[[phase]]
insert = 0.7
[[phase]]
delete = { oldest = 0.1 }
[[phase]]
delete = { random = 0.5 }
[[phase]]
rebuild = { fill = 70 }
[[phase]]
insert = 0.3
[[phase]]
delete = { all_but_each = 50 }
"""


def planned(seed: int = 5, block: int = 1, text: str = TEXT, rows: int = 1000) -> tuple[Step, ...]:
    scenario = parse_scenario("mine", text, where="mine")
    request = Request(("sqlite",), {"sqlite": "model"}, scenario, ("uuid-v4",), (), None, 1, "fast", seed, 60.0)
    return steps(request, TrialPlan(block, 0, "sqlite", "uuid-v4", "binary16", 100, rows))


def test_each_phase_has_its_rows() -> None:
    done = planned()
    assert [step.name for step in done] == ["1 insert", "2 delete", "3 delete", "4 rebuild", "5 insert", "6 delete"]
    assert done[0].rows.tolist() == list(range(700))
    assert done[1].rows.tolist() == list(range(70))
    assert len(done[2].rows) == 315
    assert set(done[2].rows.tolist()) <= set(range(70, 700))
    assert (done[3].fill, len(done[3].rows)) == (70, 0)
    assert done[4].rows.tolist() == list(range(700, 1000))
    kept = rows_left(done)
    assert len(kept) == -(-615 // 50)
    before = rows_left(done[:5])
    assert kept.tolist() == before[::50].tolist()


def test_an_engine_rebuilds_at_its_own_fill_factor_if_none_is_given() -> None:
    assert planned(text=TEXT.replace("{ fill = 70 }", "{}"))[3].fill == 100


def test_all_layouts_of_a_block_lose_the_same_rows_and_other_blocks_others() -> None:
    assert np.array_equal(planned()[2].rows, planned()[2].rows)
    assert not np.array_equal(planned()[2].rows, planned(block=2)[2].rows)
    assert not np.array_equal(planned()[2].rows, planned(seed=6)[2].rows)


def test_no_phase_that_inserts_is_without_a_row() -> None:
    text = TEXT.partition("[[phase]]")[0] + "[[phase]]\ninsert = 0.1\n[[phase]]\nrepeat = { phases = 1, times = 9 }\n"
    for rows in range(10, 40):
        counts = [len(step.rows) for step in planned(text=text, rows=rows)]
        assert sum(counts) == rows
        assert min(counts) >= 1


def step(what: What, rows: range) -> Step:
    return Step(1, what, np.array(rows, np.int64))


def test_room_is_stranded_on_pages_without_a_row_of_the_last_insertion() -> None:
    present_keys = PresentKeys(np.arange(40))
    present_keys.take(step("build", range(30)))
    assert present_keys.stranded(np.array([10, 10, 10]), 50.0) == 0
    present_keys.take(step("delete", range(5, 15)))
    present_keys.take(step("insert", range(30, 40)))
    # Ten rows fill half of a page; the leaves have 5, 5, 10 and 10 rows.
    assert present_keys.stranded(np.array([5, 5, 10, 10]), 37.5) == pytest.approx((75 + 75 + 50) / 4)
    assert present_keys.stranded(np.array([5, 5, 15, 5]), 37.5) == pytest.approx((75 + 75) / 4)


def test_a_row_lies_between_two_leaves_where_branch_pages_hold_rows() -> None:
    present_keys = PresentKeys(np.arange(32))
    present_keys.take(step("insert", range(22)))
    present_keys.take(step("insert", range(22, 32)))
    assert present_keys.stranded(np.array([10, 10, 10]), 50.0) == pytest.approx(2 * 50 / 3)
    assert present_keys.stranded(np.array([10, 11, 9]), 50.0) == pytest.approx(50 / 3), "one went between two leaves"


def test_nobody_knows_while_entries_of_deleted_rows_are_there() -> None:
    present_keys = PresentKeys(np.arange(30))
    present_keys.take(step("insert", range(30)))
    present_keys.take(step("delete", range(10)))
    assert present_keys.stranded(np.array([10, 10, 10]), 50.0) is None
    assert PresentKeys(np.arange(3)).stranded(np.array([0]), float("nan")) is None
