"""Reads a bundle and refuses one whose sums or schema do not fit."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, Final, cast, get_args

import keybench
from keybench.errors import UsageError, shortened
from keybench.model import parsers
from keybench.model.metric import Metric
from keybench.model.reading import Origin, Reading
from keybench.model.subject import Subject
from keybench.results.bundle import contents, definition
from keybench.results.bundle.licences import RESTRICTED, unit
from keybench.results.store.records import Environment, Run, Trial

MOST_BYTES: Final = 256 << 20
"""Bytes of one file in a bundle. A hundred thousand values take twenty million."""

_AGAIN: Final = "ask for it again"
_NUMBERS: Final = ("block", "position", "payload", "rows", "writers", "rows_per_tx")


@dataclass(frozen=True)
class Bundle:
    """A run as it was sent in."""

    run: Run
    environments: tuple[Environment, ...]
    warnings: tuple[str, ...]
    trials: tuple[Trial, ...]


class _Wrong(ValueError):
    """What does not fit, and the next step if there is another than to ask for the file again."""

    def __init__(self, what: str, step: str = _AGAIN) -> None:
        super().__init__(what)
        self.step = step


def read_bundle(path: Path) -> Bundle:
    """The run in a bundle. Raises UsageError if it is no bundle, or its sums or schema do not fit."""
    try:
        with zipfile.ZipFile(path) as archive:
            texts = _texts(archive)
        run, environments, warnings = _run(texts[contents.RUN])
        return Bundle(run, environments, warnings, _trials(texts[contents.VALUES], run))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}): name a file of `keybench export --bundle`."
        ) from None
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError, RuntimeError):
        raise UsageError(f"{path} is no bundle, or a damaged one: name a file of `keybench export --bundle`.") from None
    except csv.Error as error:
        raise UsageError(f"{path} is refused: {contents.VALUES} is not CSV ({error}); {_AGAIN}.") from None
    except _Wrong as error:
        raise UsageError(f"{path} is refused: {error}; {error.step}.") from None


def _texts(archive: zipfile.ZipFile) -> dict[str, str]:
    """The checked files by name."""
    names = archive.namelist()
    if contents.MANIFEST not in names:
        raise _Wrong(f"it has no {contents.MANIFEST}", "name a file of `keybench export --bundle`")
    manifest = _object(_entry(archive, contents.MANIFEST), contents.MANIFEST)
    schema = manifest.get("schema")
    if isinstance(schema, int) and schema > contents.SCHEMA:
        raise _Wrong(
            f"it has schema {schema}, and keybench {keybench.__version__} knows {contents.SCHEMA}", "update keybench"
        )
    if schema != contents.SCHEMA:
        raise _Wrong(f"its schema is {shortened(schema)} and not {contents.SCHEMA}")
    listed = manifest.get("files")
    if not isinstance(listed, dict) or set(listed) != set(contents.FILES):
        raise _Wrong(f"{contents.MANIFEST} does not list {', '.join(contents.FILES)}")
    if sorted(names) != sorted([contents.MANIFEST, *contents.FILES]):
        raise _Wrong(f"it does not hold {contents.MANIFEST}, {', '.join(contents.FILES)}, each once and nothing else")
    texts = {}
    for name in contents.FILES:
        data = _entry(archive, name)
        expected = listed[name].get("sha256") if isinstance(listed[name], dict) else None
        if sha256(data).hexdigest() != expected:
            raise _Wrong(f"the sum of {name} does not fit, so it was changed or damaged after it was written")
        texts[name] = _text(data, name)
    return texts


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise _Wrong(f"{name} has more than {MOST_BYTES >> 20} MiB", "bundle a smaller run")
    return archive.read(name)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _Wrong(f"{name} is not UTF-8") from None


def _object(data: bytes | str, name: str) -> dict[str, Any]:
    try:
        found = parsers.from_json(data if isinstance(data, str) else _text(data, name))
    except ValueError as error:
        raise _Wrong(f"{name} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise _Wrong(f"{name} is not a JSON object")
    return found


def _run(text: str) -> tuple[Run, tuple[Environment, ...], tuple[str, ...]]:
    found = _object(text, contents.RUN)
    names = {field.name for field in fields(Run)}
    if set(found) != {*names, "environments", "warnings"}:
        odd = sorted(set(found) ^ {*names, "environments", "warnings"})
        raise _Wrong(f"{contents.RUN} does not fit the schema at {shortened(odd[0])}")
    for name in ("id", "keybench", "command", "scenario", "profile", "started", "seed"):
        _expect(found[name], str, name)
    for name in ("definition", "machine"):
        _expect(found[name], dict, name)
    if not definition.fits(found["definition"], found["machine"]):
        raise _Wrong(f"{contents.RUN} does not fit the schema in 'definition' or 'machine'")
    _expect(found["blocks"], int, "blocks")
    for name in ("environments", "warnings"):
        _expect(found[name], list, name)
    if not found["id"].isalnum():
        raise _Wrong(f"{contents.RUN} does not fit the schema at 'id'")
    try:
        started, seed = datetime.fromisoformat(found["started"]), int(found["seed"])
    except ValueError:
        raise _Wrong(f"{contents.RUN} does not fit the schema at 'started' or 'seed'") from None
    if started.tzinfo is None:
        raise _Wrong(f"{contents.RUN} does not fit the schema at 'started'")
    plain = {name: found[name] for name in names} | {"started": started, "seed": seed}
    return Run(**plain), tuple(map(_environment, found["environments"])), tuple(map(str, found["warnings"]))


def _expect(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _Wrong(f"{contents.RUN} does not fit the schema at {name!r}")


def _environment(found: object) -> Environment:
    wanted: Mapping[str, type] = {
        "database": str, "server": str, "versions": dict, "settings": dict, "cache_bytes": int,
    }  # fmt: skip
    if not isinstance(found, dict) or set(found) != set(wanted):
        raise _Wrong(f"{contents.RUN} does not fit the schema at 'environments'")
    for name, kind in wanted.items():
        _expect(found[name], kind, name)
    texts = {name: {str(key): str(value) for key, value in found[name].items()} for name in ("versions", "settings")}
    return Environment(found["database"], found["server"], texts["versions"], texts["settings"], found["cache_bytes"])


def _trials(text: str, run: Run) -> tuple[Trial, ...]:
    table = csv.reader(io.StringIO(text))
    if tuple(next(table, ())) != contents.COLUMNS:
        raise _Wrong(f"{contents.VALUES} does not have the columns of its schema")
    trials: dict[tuple[int, int], Trial] = {}
    readings: dict[tuple[int, int], list[Reading]] = {}
    for line, cells in enumerate(table, start=2):
        try:
            row = dict(zip(contents.COLUMNS, cells, strict=True))
            trial = _trial(row, run)
            place = trial.block, trial.position
            if trials.setdefault(place, trial) != trial:
                raise _Wrong("the trial differs from an earlier line")
            own = readings.setdefault(place, [])
            if row["metric"]:
                own.append(_reading(row, trial))
        except _Wrong as error:
            raise _Wrong(f"{contents.VALUES}, line {line}: {error}", error.step) from None
        except ValueError as error:
            raise _Wrong(f"{contents.VALUES}, line {line}: {error}") from None
    if not trials:
        raise _Wrong(f"{contents.VALUES} holds no values")
    return tuple(replace(trial, readings=tuple(readings[place])) for place, trial in sorted(trials.items()))


def _trial(row: Mapping[str, str], run: Run) -> Trial:
    if row["run"] != run.id:
        raise _Wrong(f"the run {shortened(row['run'])} is not {run.id}")
    numbers = {name: int(row[name]) for name in _NUMBERS}
    if min(numbers.values()) < 0 or numbers["rows"] < 1 or not 1 <= numbers["block"] <= run.blocks:
        raise _Wrong("a number is out of range")
    started = datetime.fromisoformat(row["started"])
    if started.tzinfo is None:
        raise _Wrong("a time has no time zone")
    seconds = _number(row["seconds"])
    if row["status"] not in {"ok", "error"}:
        raise _Wrong(f"the status is {shortened(row['status'])}")
    if row["database"] in RESTRICTED and (seconds or started != run.started):
        raise _Wrong(_licence(row["database"]))
    return Trial(
        block=numbers["block"],
        position=numbers["position"],
        database=row["database"],
        server=row["server"],
        column=row["column"],
        layout=row["layout"],
        scenario=row["scenario"],
        payload=numbers["payload"],
        rows=numbers["rows"],
        writers=numbers["writers"],
        rows_per_tx=numbers["rows_per_tx"],
        started=started,
        seconds=seconds,
        status="ok" if row["status"] == "ok" else "error",
        error=row["error"],
    )


def _reading(row: Mapping[str, str], trial: Trial) -> Reading:
    if row["metric"] not in set(Metric):
        raise _Wrong(f"keybench {keybench.__version__} does not know the metric {shortened(row['metric'])}")
    value = _number(row["value"]) if row["value"] else None
    origin = row["origin"]
    if origin not in get_args(Origin) or (value is None) != (origin == "absent"):
        raise _Wrong(f"the origin is {shortened(origin)}")
    metric, subject = Metric(row["metric"]), Subject.parse(row["object"])
    reading = Reading(metric, value, cast("Origin", origin), row["reason"], subject)
    if row["unit"] != unit(trial.database, reading):
        if trial.database in RESTRICTED and reading.metric.definition.is_time:
            raise _Wrong(_licence(trial.database))
        raise _Wrong(f"the unit of {reading.metric} is {shortened(row['unit'])}")
    return reading


def _licence(database: str) -> str:
    return f"absolute times of {RESTRICTED[database]}, whose licence restricts publishing them"


def _number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise _Wrong(f"{text} is no number")
    return value
