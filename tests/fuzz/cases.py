"""The cases of each kind, each made from a seed: kind and number give the same case again."""

import contextlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.fuzz import toml
from tests.fuzz.commands import advice, options
from tests.fuzz.harness import Case
from tests.fuzz.nasty import BYTES, TEXTS, changed_bytes, changed_tree, value
from tests.fuzz.samples import BASELINE, BUNDLE, RESULTS, Samples, scenario_trees
from tests.fuzz.urls import urls

_NUMBERS_THAT_TAKE_LONG = ("rows", "blocks", "writers", "threads")
"""Of a damaged run that is resumed: more of these is no damage, and takes long."""


def case(kind: str, number: int, samples: Samples) -> Case:
    return KINDS[kind](Random(f"{kind}/{number}"), samples)


def _nested(rng: Random, opening: bytes, closing: bytes) -> bytes:
    depth = rng.choice((50, 1000, 100_000))
    return opening * depth + rng.choice((b"", b"1", closing * depth))


def _scenarios(rng: Random, _: Samples) -> Case:
    tree = deepcopy(rng.choice(scenario_trees()))
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        tree = changed_tree(rng, tree)
    if isinstance(tree, dict) and rng.random() < 0.1:
        tree[rng.choice(("name", "self", "where", "rows", "__class__", "model_config"))] = value(rng)
    content = toml.written(tree)
    if rng.random() < 0.3:
        content = changed_bytes(rng, content)
    if rng.random() < 0.02:
        content += b"\nx = " + _nested(rng, *rng.choice(((b"[", b"]"), (b"{a=", b"}"))))
    arguments = ["run", "--scenario", "s.toml", "--server", "model", "--results", RESULTS]
    if rng.random() < 0.2:
        arguments += [
            "--db",
            rng.choice(("sqlite", "postgresql")),
            "--rows",
            "60",
            "--layout",
            rng.choice(("uuid-v7", "uuid-v1", "rt-comb-sql")),
            "--blocks",
            "1",
        ]
    else:
        arguments += ["--db", rng.choice(("sqlite", "sqlite", "postgresql", "mssql", "all")), "--dry-run"]
    return Case(tuple(arguments), {"s.toml": content})


def _config(rng: Random, _: Samples) -> Case:
    known = ("db", "layout", "scenario", "server", "column", "rows", "writers", "executor", "blocks", "profile", "seed")
    known += ("image", "memory", "cpus", "results", "trial-timeout", "accept-eula", "dry-run", "debug")
    good = {"db": "sqlite", "server": "model", "rows": 50, "blocks": 2, "profile": "fast", "layout": ["uuid-v4"]}
    table: dict[str, Any] = {name: good[name] for name in rng.sample(sorted(good), rng.randrange(4))}
    for _ in range(rng.choice((1, 1, 2, 3))):
        table[rng.choice(known)] = value(rng)
    if rng.random() < 0.1:
        table[str(rng.choice(TEXTS))] = value(rng)
    content = toml.written({"run": table if rng.random() < 0.95 else value(rng)})
    if rng.random() < 0.3:
        content = changed_bytes(rng, content)
    if rng.random() < 0.02:
        content += b"\nx = " + _nested(rng, b"[", b"]")
    return Case(("run", "--dry-run"), {"keybench.toml": content})


def _baselines(rng: Random, samples: Samples) -> Case:
    tree = samples.baseline
    for _ in range(rng.choice((1, 1, 2, 3))):
        tree = changed_tree(rng, tree)
    content = json.dumps(tree).encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        content = changed_bytes(rng, content)
    if rng.random() < 0.02:
        content = _nested(rng, *rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"format":1,"counts":[', b"]}"))))
    arguments = ["check", "latest", "--results", RESULTS, "--baseline", BASELINE]
    if rng.random() < 0.2:
        arguments.append("--update-baseline")
    if rng.random() < 0.2:
        arguments += ["--summary", "summary.md"]
    return Case(tuple(arguments), {RESULTS: samples.whole, BASELINE: content})


_READERS: tuple[tuple[str, ...], ...] = (
    ("export", "latest"),
    ("export", "latest", "--format", "json", "--series"),
    ("compare", "latest"),
    ("compare", "latest:layout=uuid-v4", "latest:layout=uuid-v7"),
    ("check", "latest", "--baseline", BASELINE),
    ("compare", "latest", "--claims"),
)


def _results(rng: Random, samples: Samples) -> Case:
    resumed = rng.random() < 0.25
    content = samples.begun if resumed else samples.whole
    content = changed_bytes(rng, content) if rng.random() < 0.5 else _changed_database(rng, content)
    if resumed:
        arguments: tuple[str, ...] = ("run", "--resume", "latest")
    elif rng.random() < 0.01:  # it draws, which takes a second
        arguments = ("report", "latest")
    else:
        arguments = rng.choice(_READERS)
    baseline = json.dumps(samples.baseline).encode()
    return Case((*arguments, "--results", RESULTS), {RESULTS: content, BASELINE: baseline})


def _bundles(rng: Random, samples: Samples) -> Case:
    """A damaged archive, or a whole one with damaged files, whose sums often fit."""
    content = samples.bundle
    if rng.random() < 0.3:
        content = changed_bytes(rng, content)
    else:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(("run.json", "run.json", "values.csv", "values.csv", "manifest.json"))
        if rng.random() < 0.1:
            files[name] = _swollen(rng)
        elif name.endswith(".json") and rng.random() < 0.8:
            files[name] = json.dumps(changed_tree(rng, json.loads(files[name]))).encode("utf-8", "surrogatepass")
        else:
            files[name] = changed_bytes(rng, files[name])
        if name != "manifest.json" and rng.random() < 0.9:
            manifest = json.loads(files["manifest.json"])
            manifest["files"][name]["sha256"] = sha256(files[name]).hexdigest()
            files["manifest.json"] = json.dumps(manifest).encode()
        whole = io.BytesIO()
        method = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        with zipfile.ZipFile(whole, "w", method) as archive:
            for part, data in files.items():
                archive.writestr(part, data)
            archive.comment = rng.choice((b"", b"", b"\x1b[31m"))
        content = whole.getvalue()
    if rng.random() < 0.05:
        return Case(("site", "--verify", BUNDLE), special={BUNDLE: rng.choice(("pipe", "folder", "/dev/zero", BUNDLE))})
    return Case(("site", "--verify", BUNDLE), {BUNDLE: content})


def _swollen(rng: Random) -> bytes:
    """Content that is small when it is packed and takes many times its size when it is parsed."""
    return rng.choice((b"[" + b"{}," * 400_000, b"," * 2_000_000, b'"\n",' * 500_000, bytes(1 << 25), b"[" * 900_000))


def _names(rng: Random, _: Samples) -> Case:
    """A database whose tables and columns have wrong names."""
    database = sqlite3.connect(":memory:")
    with contextlib.closing(database):
        for _ in range(rng.choice((1, 2, 4))):
            table, column = ('"' + _name(rng).replace('"', '""') + '"' for _ in range(2))
            kind = rng.choice(("INTEGER PRIMARY KEY", "TEXT PRIMARY KEY", "BLOB UNIQUE", "REFERENCES x"))
            with contextlib.suppress(sqlite3.Error, UnicodeEncodeError, ValueError):
                database.execute(f"CREATE TABLE {table} ({column} {kind}) {rng.choice(('', 'STRICT'))}")
                for _ in range(rng.choice((0, 3, 300))):
                    database.execute(f"INSERT INTO {table} VALUES (?)", (rng.choice((None, *TEXTS, *BYTES)),))
        database.execute("CREATE TABLE IF NOT EXISTS plain (id INTEGER PRIMARY KEY)")  # an empty one has no file
        database.commit()
        content = database.serialize()
    if rng.random() < 0.4:
        content = changed_bytes(rng, content)
    wanted = ("--table", _name(rng)) if rng.random() < 0.2 else ()
    return Case(("inspect", "app.sqlite", *rng.choice(((), ("--json",))), *wanted), {"app.sqlite": content})


def _name(rng: Random) -> str:
    return "".join(rng.choices(TEXTS, k=rng.choice((1, 1, 2))))


_PLACES = (
    ".",
    "..",
    "/",
    "",
    "-",
    "/dev/stdout",
    "/dev/null",
    "/dev/full",
    "/dev/fd/9",
    "none/x",
    "x" * 255,
    "x" * 300,
)
_SPECIAL = {
    "pipe": "pipe",
    "folder": "folder",
    "link": RESULTS,
    "null": "/dev/null",
    "dangling": "new",
    "circle": "circle",
}
_WRITERS: tuple[tuple[str, ...], ...] = (
    ("export", "latest", "-o"),
    ("export", "latest", "--bundle", "-o"),
    ("check", "latest", "--baseline", BASELINE, "--summary"),
    ("check", "latest", "--update-baseline", "--baseline"),
    ("verify", "sqlite", "--dry-run", "--output"),
)


def _outputs(rng: Random, samples: Samples) -> Case:
    """A command that writes, with an output that is no file."""
    command = rng.choice(_WRITERS) if rng.random() < 0.99 else ("report", "latest", "-o")  # it draws
    place = rng.choice((*_PLACES, *_SPECIAL, *TEXTS))
    baseline = json.dumps(samples.baseline).encode()
    arguments = (*command, place, "--results", RESULTS) if command[0] != "verify" else (*command, place)
    return Case(arguments, {RESULTS: samples.whole, BASELINE: baseline}, special=_SPECIAL)


def _streams(rng: Random, samples: Samples) -> Case:
    """A command whose standard streams are closed."""
    made = rng.choice((options, advice, _outputs, _names))(rng, samples)
    closed = frozenset(name for name in ("stdin", "stdout", "stderr") if rng.random() < 0.6)
    return replace(made, closed=closed)


def _changed_database(rng: Random, content: bytes) -> bytes:
    """The results file with values replaced by others that SQLite stores, too."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        path.write_bytes(content)
        with contextlib.closing(sqlite3.connect(path)) as database:
            for _ in range(rng.choice((1, 1, 2, 4))):
                with contextlib.suppress(sqlite3.Error, UnicodeEncodeError):
                    _change(rng, database)
            database.commit()
        return path.read_bytes()


def _change(rng: Random, database: sqlite3.Connection) -> None:
    table = rng.choice(
        ("meta", "run", "run", "run", "environment", "block", "trial", "trial", "value", "series", "blob")
    )
    columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
    if not columns:  # it was dropped before
        return
    if rng.random() < 0.05:
        database.execute(rng.choice((f'DROP TABLE "{table}"', f'DELETE FROM "{table}"')))
        return
    column = rng.choice(columns)
    rows = database.execute(f'SELECT rowid, "{column}" FROM "{table}"').fetchall()
    if not rows:
        return
    number, old = rng.choice(rows)
    database.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = ?', (_other(rng, old), number))


def _other(rng: Random, old: Any) -> Any:
    if isinstance(old, bytes) and rng.random() < 0.7:
        return changed_bytes(rng, old)
    if isinstance(old, str) and old[:1] == "{" and old[-1] == "}" and rng.random() < 0.9:
        with contextlib.suppress(ValueError):  # it was changed before
            old = json.dumps(_smaller(changed_tree(rng, json.loads(old))))
        return old if rng.random() < 0.9 else changed_bytes(rng, old.encode()).decode("utf-8", "replace")
    if rng.random() < 0.1:
        return changed_bytes(rng, str(old).encode())
    new = value(rng)
    small = isinstance(new, int | float | str | bytes | None) and not (isinstance(new, int) and abs(new) >= 1 << 63)
    return new if small else rng.choice(BYTES)


def _smaller(node: Any) -> Any:
    """The tree without numbers that would only make the resumed run long."""
    if isinstance(node, dict):
        capped = {
            key: min(one, 700) for key, one in node.items() if key in _NUMBERS_THAT_TAKE_LONG and type(one) is int
        }
        return {key: _smaller(one) for key, one in node.items()} | capped
    return [_smaller(one) for one in node] if isinstance(node, list) else node


Maker = Callable[[Random, Samples], Case]
KINDS: Mapping[str, Maker] = {
    "scenarios": _scenarios,
    "urls": lambda rng, _: urls(rng),
    "options": options,
    "advice": advice,
    "config": _config,
    "results": _results,
    "baselines": _baselines,
    "bundles": _bundles,
    "names": _names,
    "outputs": _outputs,
    "streams": _streams,
}
