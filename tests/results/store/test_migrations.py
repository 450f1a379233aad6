"""A file of each older version, as that version wrote it, lies in `data`."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject, SubjectKind
from keybench.results.store import tables
from keybench.results.store.database import Store
from keybench.results.store.tables import SCHEMA_VERSION
from tests.errors import raised
from tests.results.conftest import a_run, sql, trials

DATA = Path(__file__).parent / "data"
Rows = list[tuple[object, ...]]


def schema(file: Path) -> dict[object, tuple[Rows, Rows]]:
    """Columns and foreign keys of each table; the places of columns may differ."""
    names = [name for (name,) in sql(file, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: (
            sorted(row[1:] for row in sql(file, f"PRAGMA table_info('{name}')")),
            sorted(row[2:] for row in sql(file, f"PRAGMA foreign_key_list('{name}')")),
        )
        for name in names
    }


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    file = tmp_path / "old.sqlite"
    shutil.copy(DATA / "schema-version-1.sqlite", file)
    return file


def test_every_older_version_has_a_migration_and_a_stored_file() -> None:
    assert len(tables.MIGRATIONS) == SCHEMA_VERSION - 1
    stored = {f"schema-version-{version}.sqlite" for version in range(1, SCHEMA_VERSION)}
    assert {file.name for file in DATA.iterdir()} == stored


KNOWN = "WHERE value.object NOT LIKE 'grid %' AND value.object NOT LIKE 'shard %' AND value.object NOT LIKE 'model: %'"
"""Without what keybench no longer has."""


@pytest.mark.parametrize("write", [False, True])
def test_a_file_of_version_1_keeps_every_value_that_keybench_still_has(version_1: Path, write: bool) -> None:
    old = sql(version_1, f"SELECT trial, metric, object, value, origin, reason FROM value {KNOWN}")
    query = "SELECT run.scenario, trial.database, trial.block, trial.position, value.metric, value.object, value.value "
    query += "FROM value JOIN trial ON trial.id = value.trial JOIN run ON run.id = trial.run "
    retired = "AND value.metric NOT IN ('lag_rows', 'lag_seconds', 'delete_seconds', 'refill_seconds', "
    retired += "'refilled_index_bytes', 'fronts', 'displacement', 'heap_correlation', 'position_p95', "
    retired += "'edge_distance_pages')"
    expected = set(sql(version_1, f"{query}{KNOWN} {retired}"))
    with Store.open(str(version_1), write=write) as store:
        trials = [trial for run in store.runs() for trial in store.trials(run.id)]
    assert {
        (t.scenario, t.database, t.block, t.position, str(r.metric), str(r.subject), r.value)
        for t in trials
        for r in t.readings
    } == expected
    later = {SubjectKind.PHASE, SubjectKind.MODEL_PHASE, SubjectKind.WAIT}
    assert {r.subject.kind for t in trials for r in t.readings} == set(SubjectKind) - later
    assert {trial.traceback for trial in trials} == {""}
    new = sql(version_1, "SELECT trial, metric, subject_kind, subject_name, value, origin, reason FROM value")
    texts = [(*row[:2], str(Subject(SubjectKind(str(row[2])), str(row[3]))), *row[4:]) for row in new]
    assert sorted(texts, key=repr) == sorted(old, key=repr)


def test_a_migrated_file_has_the_tables_of_a_new_one(version_1: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "new.sqlite"
    for file in (fresh, version_1):
        Store.open(str(file), write=True).close()
    assert schema(version_1) == schema(fresh)


def test_a_migration_that_fails_leaves_the_file_as_it_was(version_1: Path) -> None:
    sql(version_1, "UPDATE value SET object = 'moon' WHERE object = 'machine'")
    before = version_1.read_bytes()
    assert raised(UsageError, Store.open, str(version_1), write=False) == (
        f"{version_1} was written by an older keybench and must be updated first: {version_1} cannot be "
        "updated ('moon' is not the subject of a reading): give --results another file."
    )
    assert version_1.read_bytes() == before


def test_an_older_file_in_use_says_why_it_cannot_be_read(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(tables, "SCHEMA_VERSION", 1)
        patched.setattr(tables, "MIGRATIONS", ())
        writer = Store.open(str(version_1), write=True)
    said = raised(UsageError, Store.open, str(version_1), write=False)
    writer.close()
    assert said.startswith(
        f"{version_1} was written by an older keybench and must be updated first: another run is writing to {version_1}"
    )


VERSION_1 = (
    "ALTER TABLE keybench.trial DROP COLUMN traceback",
    "DROP TABLE keybench.value",
    "CREATE TABLE keybench.value (trial int REFERENCES keybench.trial, metric text, object text, value float8, "
    "origin text NOT NULL, reason text NOT NULL, PRIMARY KEY (trial, metric, object))",
    "INSERT INTO keybench.value SELECT id, 'lag_rows_p50', 'writer web-1', 3, 'derived', '' FROM keybench.trial",
    "INSERT INTO keybench.value SELECT id, 'leaf_density', 'grid 2 processes, 64 rows a tick', NULL, 'absent', 'why' "
    "FROM keybench.trial",
    "UPDATE keybench.meta SET value = '1' WHERE key = 'schema'",
)


def test_a_team_database_of_version_1_is_migrated() -> None:
    own = engine("postgresql")
    provision = own.provision(
        next(kind for kind in ("local", "embedded") if not own.missing(kind)), own.settings("fast", "default")
    )
    given = provision.start().parameters
    try:
        url = f"postgresql://{given['user']}@/{given['dbname']}?host={given['host']}&port={given['port']}"
        with Store.open(url, write=True) as store:
            store.add_run(a_run(blocks=1))
            (trial, *_) = trials(["uuid-v4"], ["sqlite"], 1, 1000, [100], after=False)
            store.record(a_run().id, replace(trial, readings=(), blobs=()))
        database = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
        with database.begin() as connection:
            for statement in VERSION_1:
                connection.execute(text(statement))
        database.dispose()
        with Store.open(url, write=False) as store:
            (migrated,) = store.trials(a_run().id)
    finally:
        provision.stop()
    assert migrated.traceback == ""
    assert migrated.readings == (Reading(Metric.LAG_ROWS_P50, 3.0, "derived", "", Subject.writer("web-1")),)
