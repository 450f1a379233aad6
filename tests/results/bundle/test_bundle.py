"""One file of a run: it holds the values, nothing private, and no absolute times where a licence forbids them."""

import csv
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import keybench
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.results.analysis.groups import group_trials
from keybench.results.bundle.private import REASON, public_blob, publishable
from keybench.results.bundle.reading import read_bundle
from keybench.results.bundle.writing import COLUMNS, FILES, MANIFEST, write_bundle
from keybench.results.export import app
from keybench.results.store.blobs import positions
from keybench.results.store.records import Environment
from tests.errors import raised
from tests.parameters import first

FEW = ("bigint-identity", "uuid-v4")
Change = Callable[[dict[str, bytes]], None]


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path: Path, change: Change, *, sums: bool = True) -> Path:
    """The bundle after a change; with `sums`, the manifest lists the sums of what is then in it."""
    files = parts(path)
    change(files)
    if sums and MANIFEST in files:
        manifest = json.loads(files[MANIFEST])
        for name in set(manifest["files"]) & set(files):
            manifest["files"][name]["sha256"] = sha256(files[name]).hexdigest()
        files[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_what_was_measured_comes_back(fake_run, tmp_path) -> None:
    store = fake_run(layouts=FEW, blocks=2, warnings=["a warning"])
    path = write_bundle(store, "latest", tmp_path / "run.zip")
    bundle = read_bundle(path)
    run, trials = store.run("latest"), store.trials("5ca1ab1e00")
    assert bundle.run == replace(
        run,
        command="keybench run --scenario two-million --blocks 2 --seed 7",
        definition={"titles": run.definition["titles"], "scenario": {}},
        machine={**run.machine, "cpu": "9000 3.00"},
    )
    assert [one.versions for one in bundle.environments] == [{"postgresql": "18.1"}, {"sqlite": "18.1"}]
    assert bundle.environments[0].settings == {"shared_buffers": "64MB"}
    assert bundle.warnings == ()
    without_reasons = [
        tuple(replace(one, reason=REASON if one.value is None else "") for one in trial.readings) for trial in trials
    ]
    assert list(bundle.trials) == [
        replace(trial, series=(), blobs=(), readings=readings)
        for trial, readings in zip(trials, without_reasons, strict=True)
    ]
    assert write_bundle(store, "latest", tmp_path / "again.zip").read_bytes() == path.read_bytes()


PRIVATE = "hunter2"
SHAPES = (
    PRIVATE,
    f"{PRIVATE}:5432",
    f"host={PRIVATE} user={PRIVATE} password={PRIVATE}",
    f'role "{PRIVATE}" does not exist',
    f"Access denied for user '{PRIVATE}'@'{PRIVATE}.example'",
    f"password: {PRIVATE}",
    f"jdbc:postgresql://{PRIVATE}/x?user={PRIVATE}",
    f"(DESCRIPTION=(ADDRESS=(HOST={PRIVATE})(PORT=1521)))",
    f"/run/{PRIVATE}/.s.PGSQL.5432",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_whose_every_text_is_private_gives_a_bundle_without_any(fake_run, tmp_path, shape) -> None:
    def marked(trial):
        texts = {
            name: f"{getattr(trial, name)} {shape}"
            for name in ("database", "server", "column", "layout", "scenario", "error", "traceback")
        }
        subjects = Subject.writer(shape), Subject.writer(f"{shape} 2"), Subject.wait(f"{shape} wait")
        named = (Reading(Metric.LAGGING_INSERTS, 1.0, "derived", shape, subject) for subject in subjects)
        readings = (*(replace(one, reason=shape) for one in trial.readings), *named)
        return replace(trial, **texts, readings=readings)

    store = fake_run(layouts=FEW, change=marked, warnings=[shape], environments=False)
    settings = {"shared_buffers": shape, "fsync": "on", shape: "on", "data_directory": f"/{shape}", "port": "5432"}
    versions = {"sqlite": f"3.46 {shape}", shape: "1", "apsw": PRIVATE}
    store.add_environment("5ca1ab1e00", Environment(f"sqlite {shape}", shape, versions, settings, 1))
    names = {"titles": {"sqlite": shape}, "layouts": ["uuid-v4", shape], "databases": [shape], shape: 1}
    scenario = {
        "name": shape,
        "title": shape,
        "rows": 5,
        "load": {"path": "rows", f"{shape} field": 1},
        "writer": [{"id": "a"}],
    }
    run = replace(
        store.run("latest"), id="beef", keybench=f"0.1 {shape}", command=shape, scenario=f"{shape} x",
        profile=shape,
        definition={**names, "scenario": scenario, "columns": {shape: [shape]}, "servers": {"sqlite": shape}},
        machine={"cpu": f"Intel(R) {shape} 2.20GHz", "system": shape, "hostname": shape, "cores": 4},
    )  # fmt: skip
    store.add_run(run)
    for trial in store.trials("5ca1ab1e00"):
        store.record("beef", trial)
    for name in ("beef", "5ca1"):
        path = write_bundle(store, name, tmp_path / f"{name}.zip")
        assert PRIVATE not in b"\n".join(parts(path).values()).decode()
        trials = read_bundle(path).trials
        assert {trial.server for trial in trials} == {"url"}
        assert {trial.error for trial in trials} == {"an error, whose message is left out"}
        assert {trial.layout for trial in trials} == {"user's layout 1", "user's layout 2"}
        subjects = {str(one.subject) for trial in trials for one in trial.readings}
        assert {one for one in subjects if " " in one} == (
            {"writer writer 2", "writer writer 3", "wait wait 1"}
            if name == "beef"
            else {"writer writer 1", "writer writer 2", "wait wait 1"}
        )
    (environment,) = read_bundle(tmp_path / "5ca1.zip").environments
    assert (environment.versions, environment.settings) == ({"sqlite": "3.46"}, {"fsync": "on"})
    run = read_bundle(tmp_path / "beef.zip").run
    assert run.machine == {"cores": 4, "cpu": "Intel(R) 2.20", "system": ""}
    assert run.definition["scenario"] == {"rows": 5, "load": {"path": "rows"}}


def test_a_picture_of_a_site_has_no_note_and_no_writers_name() -> None:
    blob = positions([PRIVATE, "writer"], np.zeros(2, np.int64), np.arange(2.0), np.zeros(2), PRIVATE)
    assert public_blob(blob, {PRIVATE: "writer 1"}).about == {"rows": 2, "writers": ["writer 1", "writer"], "note": ""}


@pytest.mark.parametrize("database", ["mssql", "oracle"])
def test_restricted_databases_have_ratios_and_counts_alone(fake_run, tmp_path, database) -> None:
    store = fake_run(layouts=FEW, databases=("sqlite",), change=lambda trial: replace(trial, database=database))
    run, trials = store.run("latest"), store.trials("5ca1ab1e00")
    times = {
        repr(one.value)
        for trial in trials
        for one in trial.readings
        if one.metric.definition.is_time and one.value is not None
    } | {repr(trial.seconds) for trial in trials}
    path = write_bundle(store, "latest", tmp_path / "run.zip")
    cells = {cell for row in csv.reader(io.StringIO(parts(path)["values.csv"].decode())) for cell in row}
    assert times
    assert not times & cells
    bundle = read_bundle(path)
    assert {(trial.seconds, trial.started) for trial in bundle.trials} == {(0.0, run.started)}
    (before,), (after,) = group_trials(run, trials, []), group_trials(bundle.run, bundle.trials, [])
    for arm in before.treatments:
        (same,) = [one for one in after.treatments if one == arm]
        for metric in (Metric.INSERT_SECONDS, Metric.TX_P99_MS):
            assert after.ratio(same, metric).median == pytest.approx(before.ratio(arm, metric).median)
        assert same.values(Metric.LEAF_PAGES) == arm.values(Metric.LEAF_PAGES)


def test_without_the_control_a_restricted_time_is_absent(fake_run) -> None:
    store = fake_run(layouts=FEW, databases=("sqlite",), change=lambda trial: replace(trial, database="oracle"))
    alone = [trial for trial in store.trials("5ca1ab1e00") if trial.layout == "uuid-v4"]
    for trial in publishable(store.run("latest"), alone):
        for one in trial.readings:
            assert one.value is None or not one.metric.definition.is_time


def edited(name: str, before: str, after: str) -> Change:
    def change(files: dict[str, bytes]) -> None:
        assert before.encode() in files[name]
        files[name] = files[name].replace(before.encode(), after.encode(), 1)

    return change


REFUSED: list[tuple[str, Change, bool, str]] = [
    ("sum", edited("values.csv", "uuid-v4", "uuid-v7"), False,
     "the sum of values.csv does not fit, so it was changed or damaged after it was written; ask for it again."),
    ("newer", edited(MANIFEST, '"schema": 1', '"schema": 2'), True,
     f"it has schema 2, and keybench {keybench.__version__} knows 1; update keybench."),
    ("schema", edited(MANIFEST, '"schema": 1', '"schema": "x"'), True, "its schema is 'x' and not 1; ask"),
    ("list", edited(MANIFEST, '"run.json"', '"other.json"'), True,
     f"{MANIFEST} does not list {', '.join(FILES)}; ask for it again."),
    ("manifest", lambda files: files.pop(MANIFEST), True,
     f"it has no {MANIFEST}; name a file of `keybench export --bundle`."),
    ("more", lambda files: files.update({"evil.sh": b"x"}), True,
     f"it does not hold {MANIFEST}, {', '.join(FILES)}, each once and nothing else; ask for it again."),
    ("json", edited("run.json", "{", "["), True, "run.json is not JSON"),
    ("field", edited("run.json", '"seed"', '"seeds"'), True, "run.json does not fit the schema at 'seed';"),
    ("type", edited("run.json", '"blocks": 1', '"blocks": "1"'), True, "run.json does not fit the schema at 'blocks';"),
    ("definition", edited("run.json", '"postgresql": "PostgreSQL"', '"postgresql": 1'), True,
     "run.json does not fit the schema at 'definition'; ask"),
    ("columns", edited("values.csv", "run,block", "run,blocks"), True, "values.csv does not have the columns of its"),
    ("csv", edited("values.csv", ",ok,", ",o\rk,"), True, "values.csv is not CSV (new-line character seen in unquoted"),
    ("run", edited("values.csv", "\n5ca1ab1e00", "\nfeed"), True, "line 2: the run 'feed' is not 5ca1ab1e00;"),
    ("metric", edited("values.csv", "insert_seconds", "x"), True, "does not know the metric 'x'; ask for it again."),
    ("unit", edited("values.csv", "leaf_pages,pages", "leaf_pages,rows"), True, "the unit of leaf_pages is 'rows'"),
    ("origin", edited("values.csv", ",measured,", ",guessed,"), True, "line 2: the origin is 'guessed'; ask"),
    ("status", edited("values.csv", ",ok,", ",fine,"), True, "values.csv, line 2: the status is 'fine'; ask for it"),
    ("blank", edited("values.csv", ",uuid-v4,", ", ,"), True, "a trial has no layout; ask for it again."),
    ("newline", edited("values.csv", ",uuid-v4,", ',"\n",'), True,
     "values.csv is not CSV (unexpected end of data); ask for it again."),
    ("control", edited("values.csv", ",uuid-v4,", ",uuid\x1b[31m,"), True,
     r"'uuid\x1b[31m' has characters that cannot be printed; ask for it again."),
    ("direction", edited("run.json", '"two-million"', '"\u202enoillim"'), True,
     "run.json has characters that cannot be printed; ask for it again."),
    ("escape", edited("run.json", '"two-million"', r'"\\\u001b[31m"'), True,
     "run.json has characters that cannot be printed; ask for it again."),
    ("line", edited("values.csv", ",uuid-v4,", f",{'v' * 10_000},"), True,
     "the line has more than 10,000 bytes; ask for it again."),
    ("cells", edited("values.csv", ",1000,rows,", ",1000,rows,2026,"), True, "values.csv, line 2: "),
]  # fmt: skip


_MADE: list[bytes] = []
"""A bundle that fits, made once."""


@pytest.fixture
def good(fake_run, tmp_path) -> Path:
    path = tmp_path / "run.zip"
    if not _MADE:
        _MADE.append(write_bundle(fake_run(layouts=FEW, databases=("sqlite",), blocks=1), "latest", path).read_bytes())
    path.write_bytes(_MADE[0])
    return path


@pytest.mark.parametrize(
    ("change", "sums", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_a_bundle_that_does_not_fit_is_refused(good, change, sums, message) -> None:
    path = rewritten(good, change, sums=sums)
    said = raised(UsageError, read_bundle, path)
    assert said.startswith(f"{path} is refused: ")
    assert message in said


def _packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these files, whose manifest lists their sums."""
    sums = {name: {"sha256": sha256(data).hexdigest()} for name, data in files.items()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in {MANIFEST: json.dumps({"schema": 1, "files": sums}).encode(), **files}.items():
            archive.writestr(name, data)
    return content.getvalue()


def _listing_much(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO(_packed(files))
    with zipfile.ZipFile(content, "a") as archive:
        for number in range(60_000):
            archive.writestr(zipfile.ZipInfo(f"{number:06}"), b"")
    return content.getvalue()


def _understated(files: dict[str, bytes]) -> bytes:
    """256 MiB that are said to be 100 bytes."""
    content = _packed({**files, "run.json": bytes(1 << 28)})
    return content.replace((1 << 28).to_bytes(4, "little"), (100).to_bytes(4, "little"))


def _different(files: dict[str, bytes]) -> bytes:
    """So many trials with so long names, with one wide character in each, that they take gigabytes."""
    head, first = files["values.csv"].split(b"\n")[:2]
    cells = first.split(b",")
    lines = [head]
    for number in range(9_000):
        cells[COLUMNS.index("position")] = b"%d" % number
        cells[COLUMNS.index("layout")] = b"%d" % number + "😀".encode() + b"x" * 2_000
        lines.append(b",".join(cells))
    return _packed({**files, "values.csv": b"\n".join(lines)})


def _many(files: dict[str, bytes], values: int, trials: int) -> bytes:
    """So many values of so many trials."""
    head, first = files["values.csv"].split(b"\n")[:2]
    cells = first.split(b",")
    place = COLUMNS.index("position")
    lines = [b",".join([*cells[:place], b"%d" % (number % trials), *cells[place + 1 :]]) for number in range(values)]
    return _packed({**files, "values.csv": b"\n".join([head, *lines])})


HOSTILE: dict[str, tuple[Callable[[dict[str, bytes]], bytes], str]] = {
    "bzip2": (
        lambda files: _packed({**files, "README.txt": bytes(1 << 20)}, zipfile.ZIP_BZIP2),
        "is refused: manifest.json is packed by another method than deflate; ask for it again.",
    ),
    "understated": (_understated, "is no bundle, or a damaged one: name a file of `keybench export --bundle`."),
    "definition": (
        lambda files: _packed(
            {
                **files,
                "run.json": files["run.json"].replace(b'"titles"', b'"x":[' + b'{"":0},' * 145_000 + b'1],"titles"'),
            }
        ),
        "run 5ca1ab1e00, ",
    ),
    "quotation marks": (
        lambda files: _packed({**files, "values.csv": b'"\n",' * (4 << 20)}),
        "is refused: values.csv is not CSV (unexpected end of data); ask for it again.",
    ),
    "large csv": (
        lambda files: _packed({**files, "values.csv": bytes(300 << 20)}),
        "is refused: values.csv has more than 24 MiB; bundle a smaller run.",
    ),
    "different": (_different, "it has more than 1,048,576 characters of different texts; bundle a smaller run."),
    "most": (lambda files: _many(files, 130_000, 10_000), "run 5ca1ab1e00, 130,000 values; sums and schema fit"),
    "many": (
        lambda files: _many(files, 10_001, 10_001),
        "is refused: values.csv, line 10002: a bundle has at most 10,000 trials and 150,000 values; bundle",
    ),
    "list": (
        _listing_much,
        "is refused: it does not hold manifest.json, run.json, values.csv, README.txt, each once and nothing else",
    ),
}

_MEASURED = """
import pathlib, re, resource, sys
from keybench import cli
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
sys.argv = ["keybench", "site", "--verify", sys.argv[1]]
try:
    cli.run(sweep=False)
finally:
    print(int(re.search(r"VmHWM:\\s*(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) >> 10)
"""
"""ru_maxrss would begin with the memory of the process that started this one."""


@pytest.mark.parametrize("kind", first(2, list(HOSTILE)))
def test_no_bundle_takes_more_than_200_mb_of_memory(good, kind) -> None:
    make, message = HOSTILE[kind]
    good.write_bytes(make({name: data for name, data in parts(good).items() if name != MANIFEST}))
    ended = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(good)], capture_output=True, text=True, timeout=60, check=False
    )
    assert message in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    assert int(ended.stdout.split()[-1]) <= 200, ended.stdout


@pytest.mark.parametrize(
    ("before", "after"), [("× control", "s"), ("2026-05-04T09:30:00+00:00,0.0", "2026-05-04T09:30:00+00:00,3.5")]
)
def test_a_bundle_with_restricted_times_is_refused(fake_run, tmp_path, before, after) -> None:
    store = fake_run(layouts=FEW, databases=("sqlite",), change=lambda trial: replace(trial, database="mssql"))
    path = rewritten(write_bundle(store, "latest", tmp_path / "run.zip"), edited("values.csv", before, after))
    assert raised(UsageError, read_bundle, path) == (
        f"{path} is refused: values.csv, line 2: absolute times of SQL Server, whose licence restricts publishing "
        "them; ask for it again."
    )


@pytest.mark.parametrize("content", [b"", b"no archive" * 50, b"PK\x05\x06" + b"\0" * 18])
def test_other_files_are_refused(tmp_path, content) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"name a file of `keybench export --bundle`\.$"):
        read_bundle(path)
    path.unlink()
    said = raised(UsageError, read_bundle, path)
    assert said == f"{path} cannot be read (No such file or directory): name a file of `keybench export --bundle`."


def test_the_command_writes_the_file(fake_run, tmp_path, monkeypatch, capsys) -> None:
    fake_run(layouts=FEW, databases=("sqlite",), blocks=1).close()
    monkeypatch.chdir(tmp_path)
    get_command(app)(["latest", "--bundle", "--results", "results.sqlite"], standalone_mode=False)
    assert capsys.readouterr().out == "keybench-5ca1ab1e00.zip\n"
    assert read_bundle(tmp_path / "keybench-5ca1ab1e00.zip").run.id == "5ca1ab1e00"


@pytest.fixture
def with_texts(fake_run, tmp_path, monkeypatch) -> list[str]:
    """The command line that bundles a run with foreign texts, of several lines and with escapes."""

    def failed(trial):
        return replace(trial, status="error", error=f'role\n "{PRIVATE}" \x1b[31m', layout="mine")

    fake_run(layouts=FEW, databases=("sqlite",), blocks=1, change=failed, warnings=["take care"]).close()
    monkeypatch.chdir(tmp_path)
    return ["latest", "--bundle", "--with-texts", "--results", "results.sqlite", "-o", "run.zip"]


SHOWN = f"""  The bundle will hold these texts:
  SQLite keeps no log that outlives a transaction.
  Two million rows
  mine
  role "{PRIVATE}" \\u001b[31m
  take care
"""


def test_texts_are_shown_before_they_are_included(with_texts, capsys) -> None:
    get_command(app)([*with_texts, "--yes"], standalone_mode=False)
    assert capsys.readouterr().err == SHOWN
    bundle = read_bundle(Path("run.zip"))
    assert {(one.layout, one.error) for one in bundle.trials} == {("mine", f'role "{PRIVATE}" \\u001b[31m')}
    assert bundle.warnings == ("take care",)


@pytest.mark.parametrize(("terminal", "answer"), [(True, "n"), (False, "y"), (True, "y")])
def test_texts_are_included_only_where_somebody_agrees(with_texts, monkeypatch, capsys, terminal, answer) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{answer}\n"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: terminal)
    if terminal and answer == "y":
        get_command(app)(with_texts, standalone_mode=False)
    else:
        message = "nothing was written: leave out --with-texts, or give --yes if none of the texts is private."
        assert raised(UsageError, get_command(app), with_texts, standalone_mode=False) == message
    assert Path("run.zip").exists() == (terminal and answer == "y")
    assert capsys.readouterr().err.startswith(SHOWN)


ONE_FORM = "a bundle has one form: leave out --format, --json and --series."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--with-texts"], "--with-texts is for --bundle: all other files hold the texts as they are."),
        *((["--bundle", *form], ONE_FORM) for form in (["--json"], ["--series"], ["--format", "parquet"])),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str) -> None:
    assert raised(UsageError, get_command(app), ["latest", *options], standalone_mode=False) == message


def test_a_run_without_trials_is_not_bundled(fake_run, tmp_path) -> None:
    store = fake_run(layouts=FEW, blocks=1, change=lambda trial: None)
    said = raised(UsageError, write_bundle, store, "latest", tmp_path / "run.zip")
    assert said == "run 5ca1ab1e00 holds no trials, so there is nothing to send: name another run."
