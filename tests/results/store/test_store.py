import os
import re
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keybench
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading, Series
from keybench.results.store.blobs import Blob
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial, new_run_id
from keybench.results.store.tables import SCHEMA_VERSION
from tests.results import conftest
from tests.results.conftest import sql

START = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


def a_run(run_id: str = "0a1b2c3d4e", started: datetime = START) -> Run:
    plain = replace(conftest.a_run(run_id), started=started, command="keybench run", seed=2**70, scenario="quick")
    return replace(plain, definition={"layouts": ["uuid-v4"], "rows": None})


def a_trial(block: int = 1, position: int = 0, points: int = 5) -> Trial:
    readings = (
        Reading(Metric.INSERT_SECONDS, 0.1 + 0.2, "measured"),
        Reading(Metric.APPENDS, 7.0, "derived"),
        Reading(Metric.LOG_BYTES, None, "absent", "SQLite keeps no log"),
    )
    series = (Series(Metric.INSERT_SECONDS, np.arange(points) * 2**40, np.linspace(0, 1e-300, points)),)
    plain = conftest.a_trial(readings, block=block, position=position, database="sqlite", column="binary16")
    return replace(plain, scenario="quick", rows=1000, rows_per_tx=100, started=START, seconds=1.25, series=series)


def same(left: Trial, right: Trial) -> bool:
    return replace(left, series=()) == replace(right, series=()) and all(
        a.metric == b.metric and np.array_equal(a.x, b.x) and np.array_equal(a.y, b.y)
        for a, b in zip(left.series, right.series, strict=True)
    )


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "results.sqlite")


@pytest.fixture
def store(file: str) -> Iterator[Store]:
    with Store.open(file, write=True) as opened:
        opened.add_run(a_run())
        yield opened


def test_a_trial_comes_back_as_it_was(store: Store, file: str) -> None:
    trial = a_trial()
    store.record(a_run().id, trial)
    for source in (store, Store.open(file, write=False)):
        (back,) = source.trials(a_run().id)
        assert same(back, trial)
        assert back.series[0].x.dtype == np.int64
        assert back.series[0].y.dtype == np.float64
        assert back.started.utcoffset() == timedelta(0)
        if source is not store:
            source.close()


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    assert store.runs() == [a_run()]
    assert store.run("latest") == a_run()


def test_times_of_any_zone_become_utc(store: Store) -> None:
    local = START.astimezone(timezone(timedelta(hours=-7)))
    store.add_run(a_run("ffffffff", local))
    assert store.run("ffffffff").started == local
    assert store.run("ffffffff").started.tzinfo is UTC


@given(
    error=st.text(st.characters(codec=None)), value=st.one_of(st.none(), st.floats()), position=st.integers(0, 10**6)
)
@settings(max_examples=40, deadline=None)
def test_any_text_and_number_is_recordable(
    tmp_path_factory: pytest.TempPathFactory, error: str, value: float | None, position: int
) -> None:
    reading = Reading(Metric.LOG_BYTES, value, "measured" if value is not None else "absent", error)
    trial = replace(a_trial(position=position), status="error", error=error, readings=(reading,))
    with Store.open(str(tmp_path_factory.mktemp("any") / "r.sqlite"), write=True) as store:
        store.add_run(a_run())
        store.record(a_run().id, trial)
        (back,) = store.trials(a_run().id)
    printable = error.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
    assert back.error == printable
    if value is None or np.isfinite(value):
        assert back.readings == (replace(reading, reason=printable),)
    else:
        assert back.readings == (
            Reading(Metric.LOG_BYTES, None, "absent", f"the probe gave {value}, which is not a finite number"),
        )


def test_an_environment_replaces_the_earlier_one(store: Store) -> None:
    first = Environment("postgresql", "local", {"server": "18"}, {"shared_buffers": "1GB"}, 2**30)
    other = Environment("mysql", "local", {}, {}, 2**40)
    second = replace(first, settings={"shared_buffers": "2GB"}, cache_bytes=2**31)
    for environment in (first, other, second, second):
        store.add_environment(a_run().id, environment)
    assert store.environments(a_run().id) == [other, second]
    assert store.environments("none") == []


def test_warnings_are_kept_in_order_and_once(store: Store) -> None:
    for text in ("b", "a", "b"):
        store.warn(a_run().id, text)
    assert store.warnings(a_run().id) == ["b", "a"]
    assert store.warnings("none") == []


def test_done_names_failed_trials_too(store: Store) -> None:
    store.record(a_run().id, a_trial(2, 1))
    store.record(a_run().id, conftest.failed(a_trial(1, 4)))
    assert store.done(a_run().id) == {(1, 4), (2, 1)}
    assert [(trial.block, trial.position) for trial in store.trials(a_run().id)] == [(1, 4), (2, 1)]
    assert store.done("none") == set()


def test_a_trial_is_recorded_wholly_or_not_at_all(store: Store) -> None:
    trial = a_trial()
    twice = replace(trial, readings=(*trial.readings, trial.readings[0]))
    message = "block 1, position 0 of run 0a1b2c3d4e cannot be recorded: UNIQUE constraint failed: value.trial"
    with pytest.raises(UsageError, match=re.escape(message)):
        store.record(a_run().id, twice)
    assert store.trials(a_run().id) == []
    store.record(a_run().id, trial)
    with pytest.raises(UsageError, match="block 1, position 0 of run 0a1b2c3d4e cannot be recorded: UNIQUE constraint"):
        store.record(a_run().id, trial)
    with pytest.raises(UsageError, match="run unknown cannot be recorded: FOREIGN KEY constraint failed"):
        store.record("unknown", trial)
    assert len(store.trials(a_run().id)) == 1


def test_run_ids_are_hexadecimal_and_differ() -> None:
    ids = {new_run_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch("[0-9a-f]{8,}", name) for name in ids)


def test_a_run_is_found_by_id_prefix_or_latest(store: Store) -> None:
    store.add_run(a_run("0a1b", START + timedelta(hours=1)))
    store.add_run(a_run("77aa", START - timedelta(hours=1)))
    assert store.run("latest").id == "0a1b"
    assert store.run("7").id == "77aa"
    assert store.run("0a1b").id == "0a1b"
    assert [run.id for run in store.runs()] == ["77aa", "0a1b2c3d4e", "0a1b"]


def test_an_unknown_or_ambiguous_run_lists_what_there_is(store: Store, file: str) -> None:
    store.add_run(a_run("0a99", START + timedelta(hours=1)))
    assert message(lambda: store.run("x")) == f"no run 'x' in {file}: use latest, or one of 0a99, 0a1b2c3d4e."
    assert message(lambda: store.run("")) == f"no run '' in {file}: use latest, or one of 0a99, 0a1b2c3d4e."
    assert message(lambda: store.run("0a")) == "run '0a' is ambiguous: add characters to tell apart 0a99, 0a1b2c3d4e."
    for number in range(5):
        store.add_run(a_run(f"b{number}", START + timedelta(days=number + 1)))
    assert message(lambda: store.run("x")).endswith("use latest, or one of b4, b3, b2, b1, b0 … (7 in all).")


def message(action: object, kind: type[KeybenchError] = UsageError) -> str:
    with pytest.raises(kind) as caught:
        action()  # type: ignore[operator]
    assert type(caught.value) is kind
    assert caught.value.__cause__ is None
    return str(caught.value)


def opening(place: object, *, write: bool, kind: type[KeybenchError] = UsageError) -> str:
    return message(lambda: Store.open(str(place), write=write), kind)


def test_no_runs_yet(tmp_path: Path) -> None:
    file = tmp_path / "r.sqlite"
    with Store.open(str(file), write=True) as store:
        assert message(lambda: store.run("latest")) == (f"{file} holds no runs yet: measure with `keybench run`.")


PLACES = "results go into a file or into PostgreSQL: give a path, or postgresql://…."


def test_reading_creates_nothing(tmp_path: Path) -> None:
    file = tmp_path / "none.sqlite"
    assert opening(file, write=False) == (
        f"no results database {file}: measure with `keybench run`, or give --results another file."
    )
    assert not file.exists()
    file.touch()
    assert opening(file, write=False) == f"{file} holds no results yet: measure with `keybench run`."
    assert file.stat().st_size == 0


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///x.sqlite", f"--results sqlite://…: {PLACES}"),
        ("mysql://me:s3cret@h/d", f"--results mysql://…: {PLACES}"),
        ("postgresql://me:s3/cret@h:port/d",
         "--results postgresql://…: not a database URL; it has the form postgresql://USER@HOST:PORT/DATABASE, with "
         "special characters of a password written as %XX."),
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_meant(url: str, expected: str, write: bool) -> None:
    assert opening(url, write=write) == expected


def test_a_server_that_does_not_answer_is_named_without_the_password() -> None:
    said = opening("postgresql://me:s3cret@127.0.0.1:9/results", write=True, kind=EnvironmentMissing)
    assert said.startswith("the results database postgresql://me:***@127.0.0.1:9/results does not answer (")
    assert said.endswith("): check the URL and the server.")
    assert "s3cret" not in said


@pytest.mark.parametrize("option", ["sslpassword", "pass"])
def test_options_of_the_url_are_not_shown(option: str) -> None:
    said = opening(f"postgresql://me@127.0.0.1:9/results?{option}=s3cret", write=True)
    assert said.startswith(f"--results: unknown option {option} of the URL. Known: application_name, ")
    assert "s3cret" not in said


@pytest.mark.parametrize("write", [False, True])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, write: bool) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"not a database, " * 1000)
    assert opening(file, write=write) == (
        f"{file} is no results database or is damaged (file is not a database); it was left as it is: "
        "give --results another file."
    )
    assert file.read_bytes() == b"not a database, " * 1000


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("table", ["meta", "people"])
def test_somebody_elses_database_is_left_alone(tmp_path: Path, write: bool, table: str) -> None:
    file = tmp_path / "other.sqlite"
    sql(file, f"CREATE TABLE {table} (key, value)")
    before = file.read_bytes()
    expected = f"{file} is a database, but it does not hold keybench results: give --results another file."
    assert opening(file, write=write) == expected
    assert file.read_bytes() == before


@pytest.mark.parametrize("write", [False, True])
def test_a_newer_file_is_refused_and_left_alone(store: Store, file: str, write: bool) -> None:
    store.close()
    sql(file, "UPDATE meta SET value = ? WHERE key = 'schema'", str(SCHEMA_VERSION + 1))
    before = Path(file).read_bytes()
    assert opening(file, write=write) == (
        f"{file} has schema version {SCHEMA_VERSION + 1}, keybench {keybench.__version__} knows versions up to "
        f"{SCHEMA_VERSION}: update keybench, or give --results another file."
    )
    assert Path(file).read_bytes() == before


def test_a_metric_of_a_newer_keybench_says_so(store: Store, file: str) -> None:
    store.record(a_run().id, a_trial())
    store.close()
    sql(file, "UPDATE value SET metric = 'colour' WHERE metric = 'appends'")
    with Store.open(file, write=False) as reader:
        assert message(lambda: reader.trials(a_run().id)) == (
            f"{file} holds the metric 'colour', which keybench {keybench.__version__} does not know: update keybench."
        )


def test_what_clusters_recorded_is_left_out(store: Store, file: str) -> None:
    """Earlier versions measured the ranges of clusters; a file with such values can still be read."""
    cluster = Blob.pack("ranges: model", {"n": 1}, {"a": np.arange(9)})
    store.record(a_run().id, replace(a_trial(), blobs=(cluster,)))
    store.close()
    sql(file, "INSERT INTO value SELECT id, 'hottest_range_share', 'key', '', 9.5, 'modelled', '' FROM trial")
    sql(file, "INSERT INTO value SELECT id, 'leaf_pages', 'rule', 'vendor', 9.0, 'modelled', '' FROM trial")
    with Store.open(file, write=False) as reader:
        (trial,) = reader.trials(a_run().id, blobs=True)
    assert trial.blobs == ()
    assert same(trial, a_trial())


WRITER = """
import sys
from keybench.results.store.database import Store
store = Store.open(sys.argv[1], write=True)
print("open", flush=True)
sys.stdin.read()
"""


def test_one_writer_at_a_time_and_readers_meanwhile(store: Store, file: str) -> None:
    store.close()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "open\n"
        expected = f"another run is writing to {file}: wait for it, or give --results another file."
        assert opening(file, write=True) == expected
        with Store.open(file, write=False) as reader:
            assert reader.runs() == [a_run()]
        assert opening(file, write=True) == expected
        other.send_signal(signal.SIGKILL)
    with Store.open(file, write=True) as again:
        assert again.runs() == [a_run()]


def test_a_second_writer_in_the_same_process_is_refused_too(store: Store, file: str) -> None:
    assert opening(file, write=True).startswith(f"another run is writing to {file}: ")
    store.record(a_run().id, a_trial())
    assert store.done(a_run().id) == {(1, 0)}


def test_a_reader_cannot_write(store: Store, file: str) -> None:
    with Store.open(file, write=False) as reader:
        assert message(lambda: reader.warn(a_run().id, "x")) == (
            f"{file} or its folder cannot be written (attempt to write a readonly database): "
            "give --results another file."
        )
    assert store.warnings(a_run().id) == []


def test_a_copied_file_is_complete_while_the_writer_is_open(store: Store, file: str, tmp_path: Path) -> None:
    store.record(a_run().id, a_trial())
    copy = tmp_path / "copy.sqlite"
    shutil.copyfile(file, copy)
    with Store.open(str(copy), write=False) as reader:
        assert same(reader.trials(a_run().id)[0], a_trial())
    assert sql(file, "PRAGMA journal_mode") == [("delete",)]


def test_a_file_in_write_ahead_mode_is_taken_out_of_it(store: Store, file: str) -> None:
    store.close()
    sql(file, "PRAGMA journal_mode = WAL")
    with Store.open(file, write=True):
        pass
    assert Path(file).read_bytes()[18:20] == b"\x01\x01"  # file format: rollback journal


def test_a_full_disk_loses_one_trial_at_most_and_takes_it_again(store: Store, file: str) -> None:
    store.record(a_run().id, a_trial())
    noise = np.random.Generator(np.random.PCG64(1)).random(20_000)
    large = replace(a_trial(position=1), series=(Series(Metric.INSERT_SECONDS, np.arange(20_000), noise),))
    limit_pages(store, 30)
    assert message(lambda: store.record(a_run().id, large), EnvironmentMissing) == (
        f"the disk of {file} is full; what was recorded before is safe: free some space, then go on with --resume."
    )
    assert store.done(a_run().id) == {(1, 0)}
    limit_pages(store, 1_000_000)
    store.record(a_run().id, large)
    assert [same(a, b) for a, b in zip(store.trials(a_run().id), [a_trial(), large], strict=True)] == [True, True]


def limit_pages(store: Store, pages: int) -> None:
    with store._storage.transaction() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(options, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_no_disk_left_to_create_the_file(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        (small_disk / "filler").write_bytes(b"x" * 2**19)
    file = small_disk / "r.sqlite"
    said = opening(file, write=True, kind=EnvironmentMissing)
    assert said.startswith(f"the disk of {file} is full")


def test_a_folder_that_takes_no_files(small_disk: Path) -> None:
    file = small_disk / "r.sqlite"
    with Store.open(str(file), write=True) as store:
        store.add_run(a_run())
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert opening(file, write=True) == (
        f"{file} cannot be written (Read-only file system): give --results another file."
    )
    with Store.open(str(file), write=False) as reader:
        assert reader.runs() == [a_run()]


def test_a_missing_folder_and_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "r.sqlite"
    assert opening(missing, write=True) == (
        f"{missing}: the folder {missing.parent} does not exist: make it, or give --results another file."
    )
    for write in (False, True):
        assert opening(tmp_path, write=write) == f"{tmp_path} is a folder: give --results another file."


def test_series_are_stored_as_their_version_says(store: Store, file: str) -> None:
    store.record(a_run().id, a_trial())
    ((x, y),) = sql(file, "SELECT x, y FROM series")
    assert np.frombuffer(zlib.decompress(x), "<i8").tolist() == a_trial().series[0].x.tolist()
    assert np.frombuffer(zlib.decompress(y), "<f8").tolist() == a_trial().series[0].y.tolist()


def test_blobs_come_back_where_they_are_asked_for(store: Store) -> None:
    kept = tuple(Blob.pack(kind, {"n": 1}, {"a": np.arange(9)}) for kind in ("one kind", "other kind"))
    store.record(a_run().id, replace(a_trial(), blobs=kept[::-1]))
    (without,) = store.trials(a_run().id)
    assert without.blobs == ()
    (back,) = store.trials(a_run().id, blobs=True)
    assert back.blobs == kept
    assert back.blobs[0].arrays["a"].tolist() == list(range(9))
