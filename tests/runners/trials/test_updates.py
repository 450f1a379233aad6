"""Phases that update and read rows, on live servers, and what is refused before the start."""

from pathlib import Path

import pytest

from keybench.databases.registry import engine
from keybench.model.metric import Metric
from keybench.model.subject import MODEL, SubjectKind
from keybench.results.store.records import Trial
from tests.parameters import first
from tests.runners.conftest import Run, latest_trials

HEAD = 'title = "t"\nrows = 2000\nstart = 2026-01-01T00:00:00Z\n[load]\nrows_per_tx = 200\n'
WORK = (
    "insert = 1.0",
    'update = { rows = 0.3, column = "status", rows_per_tx = 1_000_000 }',
    'update = { rows = 400, which = "oldest", length = "longer" }',
    "read = { present = 300 }",
    'update = { rows = 400, which = "hot" }',
    "delete = { oldest = 0.1 }",
    "read = { deleted = 0.5 }",
    "read = { scan = 1.0 }",
    "read = { pop = 100 }",
    "clean = true",
)


REFUSED = {
    "postgresql": "on PostgreSQL a new payload adds an entry to the key's index only if the row's page of the table is "
    "full, which the page model does not follow: phases that update the payload are measured alone.",
    "mariadb": "rows get payloads of another length: InnoDB then moves them within their page, or splits it, which its "
    "page model does not follow. Such updates are measured alone.",
}


def write(folder: Path, *phases: str, table: str = "[table]\nstatus = true\n") -> None:
    text = HEAD + table + "".join(f"[[phase]]\n{phase}\n" for phase in phases)
    (folder / "mine.toml").write_text(text, encoding="utf-8")


def phases(trial: Trial, metric: Metric, kind: SubjectKind = SubjectKind.PHASE) -> dict[str, float | None]:
    subjects = ((one, one.subject) for one in trial.readings if one.metric == metric)
    return {subject.name: one.value for one, subject in subjects if subject.kind == kind}


@pytest.mark.parametrize(
    ("database", "server"),
    first(3, [("postgresql", "embedded"), ("mariadb", "local"), ("sqlite", "auto"), ("postgresql", "local"),
              ("mysql", "local")]),
)  # fmt: skip
def test_rows_are_updated_and_read_on_a_server(here: Run, tmp_path: Path, database: str, server: str) -> None:
    on = engine(database)
    if reason := on.missing("embedded" if server == "auto" else server):
        pytest.skip(reason)
    write(tmp_path, *WORK)
    arguments = ("--scenario", "mine.toml", "--layout", "uuid-v7", "--set", "postgresql.heap_fillfactor=30")
    done = here("--db", database, "--server", server, *arguments[: 6 if database == "postgresql" else 4])
    assert done.returncode == 0, done.stdout + done.stderr
    refused = REFUSED.get(database, REFUSED["mariadb"])
    for trial in latest_trials(tmp_path):
        assert trial.error == ""
        missing = [one.reason for one in trial.readings if one.subject == MODEL and one.value is None]
        assert missing == ([] if database == "sqlite" else [f"No prediction: {refused}"])
        if database == "sqlite":
            assert phases(trial, Metric.LEAF_PAGES) == phases(trial, Metric.LEAF_PAGES, SubjectKind.MODEL_PHASE)
            assert phases(trial, Metric.LEAF_FRAGMENTATION, SubjectKind.MODEL_PHASE) == {}, "a second index in the file"
        rows, pages = phases(trial, Metric.PHASE_ROWS), phases(trial, Metric.LEAF_PAGES)
        modelled = phases(trial, Metric.LEAF_PAGES, SubjectKind.MODEL_PHASE)
        known = list(pages) if database == "sqlite" else ["1 insert", "2 update"]
        assert modelled == {name: pages[name] for name in known}
        assert list(rows.values()) == [2000, 600, 400, 300, 400, 200, 100, 1800, 100]
        assert (pages["3 update"], pages["7 read"]) == (pages["4 read"], pages["8 read"])
        if database == "postgresql":  # an indexed column changed, or there was room on the row's page of the table
            assert phases(trial, Metric.ENTRIES_ADDED) == {"2 update": 600, "3 update": 0, "5 update": 0}
            assert phases(trial, Metric.HOT_UPDATES) == {"2 update": 0, "3 update": 400, "5 update": 400}
            assert (pages["2 update"] or 0) > 1.7 * (pages["1 insert"] or 0)
        else:
            assert pages["2 update"] == pages["1 insert"], "a number of the same size, in its place"
            assert (pages["3 update"] or 0) > (pages["2 update"] or 0)


@pytest.mark.long
def test_updates_of_the_same_length_leave_the_leaves_of_innodb_as_they_are(here: Run, tmp_path: Path) -> None:
    if reason := engine("mariadb").missing("local"):
        pytest.skip(reason)
    write(tmp_path, *(phase.replace(', length = "longer"', "") for phase in WORK), "insert = 0.25", *WORK[-2:])
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8").replace("insert = 1.0", "insert = 0.75")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    done = here("--db", "mariadb", "--server", "local", "--scenario", "mine.toml", "--layout", "uuid-v4")
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        for metric in (Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY):
            real = phases(trial, metric)
            assert len(real) == 13
            assert real == pytest.approx(phases(trial, metric, SubjectKind.MODEL_PHASE), abs=1e-9)


@pytest.mark.long
def test_pages_are_predicted_after_updates_and_reads(here: Run, tmp_path: Path) -> None:
    update = 'update = { rows = 0.4, column = "status", rows_per_tx = 1_000_000 }'
    reads = "read = { pop = 0.1 }", "read = { present = 50 }", "read = { pop = 0.1 }", "insert = 0.1", "clean = true"
    write(tmp_path, "insert = 0.6", *reads, "insert = 0.2", update, "insert = 0.1")
    arguments = ("--db", "postgresql", "--scenario", "mine.toml", "--layout", "uuid-v4")
    done = here(*arguments, "--server", "embedded")
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        by_kind: dict[SubjectKind, list[float | None]] = {}
        for one in trial.readings:
            if one.metric in (Metric.LEAF_PAGES, Metric.LEAF_DENSITY, Metric.INTERIOR_SPLITS, Metric.APPENDS):
                by_kind.setdefault(one.subject.kind, []).append(one.value)
        assert by_kind[SubjectKind.PHASE] == pytest.approx(by_kind[SubjectKind.MODEL_PHASE], abs=1e-9)


UPSERT, QUEUE, ALONE = "upsert", "queue-popped", "autovacuum-on"


@pytest.mark.parametrize(
    ("scenario", "database"),
    first(
        1,
        [
            (UPSERT, "sqlite"),
            (QUEUE, "sqlite"),
            (ALONE, "postgresql"),
            (QUEUE, "mariadb"),
            (UPSERT, "mariadb"),
        ],
    ),
)
def test_scenarios_that_keybench_brings(here: Run, tmp_path: Path, scenario: str, database: str) -> None:
    server = {"mariadb": "local"}.get(database, "embedded")
    if reason := engine(database).missing(server):
        pytest.skip(reason)
    rows = ("--rows", "4000", "--blocks", "1", "--layout", "uuid-v4", "--column", "native")
    done = here("--db", database, "--server", server, "--scenario", scenario, *rows)
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in latest_trials(tmp_path):
        missing = [one.reason for one in trial.readings if one.subject == MODEL and one.value is None]
        if scenario == ALONE:
            assert missing == [
                "No prediction: the page model of PostgreSQL does not know when autovacuum comes: tables with "
                "autovacuum = on are measured alone."
            ]
        else:
            predicted = phases(trial, Metric.LEAF_PAGES, SubjectKind.MODEL_PHASE)
            assert (phases(trial, Metric.LEAF_PAGES), missing) == (predicted, [])


@pytest.mark.parametrize(
    ("phases", "arguments", "message"),
    [
        (["insert = 1.0", 'update = { rows = 9, column = "status" }'],
         ["--db", "sqlite"],
         "scenario mine.toml: a phase updates the column status, which the table lacks: add status = true to the "
         "table Fields: docs/scenarios.md."),
        (["insert = 1.0", "delete = { oldest = 0.5 }", "update = { rows = 1001 }"],
         ["--db", "sqlite"],
         "scenario mine: phase 3 updates 1,001 rows where there are 1,000: name fewer."),
        (["insert = 1.0", "read = { deleted = 1 }"], ["--db", "sqlite"],
         "scenario mine: phase 2 reads 1 deleted rows where there are 0: name fewer."),
        (["insert = 1.0", "update = { rows = 0.5 }"], ["--db", "sqlite", "--payload", "0"],
         "scenario mine, payload 0 updates the column payload, which rows of 0 characters lack: give them some with "
         "--payload."),
        (["insert = 1.0", "update = { rows = 0.5 }"], ["--db", "oracle", "--server", "model"],
         "the page model of Oracle knows no updates yet, which scenario mine has: measure it on a server, or leave "
         "oracle out of --db."),
        (["insert = 1.0", "update = { rows = 0.5 }"], ["--db", "oracle", "--server", "oracle://me@127.0.0.1:1/x"],
         "keybench cannot update or read rows of Oracle in phases yet, as scenario mine wants: leave oracle out of "
         "--db."),
        (["insert = 1.0", "update = { rows = 0.5 }"], ["--db", "postgresql", "--set", "heap_fillfactor=9"],
         "heap_fillfactor of postgresql is a whole number from 10 to 100, not '9'."),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_before_the_start(
    here: Run, tmp_path: Path, phases: list[str], arguments: list[str], message: str
) -> None:
    write(tmp_path, *phases, table="")
    done = here(*arguments, "--scenario", "mine.toml", "--layout", "uuid-v7")
    assert (done.returncode, " ".join(done.stderr.split())) == (2, f"keybench: {message}")
    assert not (tmp_path / "keybench-results.sqlite").exists()
