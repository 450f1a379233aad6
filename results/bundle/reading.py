"""Reads a bundle and refuses one whose sums or schema do not fit."""

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
from typing import Annotated, Any, Final, cast, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

import keybench
from keybench.errors import UsageError, shortened
from keybench.model import parsers
from keybench.model.metric import Metric
from keybench.model.reading import Origin, Reading
from keybench.model.subject import Subject
from keybench.results.bundle.private import RESTRICTED, unit
from keybench.results.bundle.writing import COLUMNS, FILES, MANIFEST, RUN, SCHEMA, VALUES
from keybench.results.store.records import Environment, Run, Trial

MOST_BYTES: Final = 256 << 20
"""Bytes of one file in a bundle. A hundred thousand values take twenty million."""

_AGAIN: Final = "ask for it again"
_TEXTS: Final = ("database", "server", "column", "layout", "scenario", "status", "error")
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
        run, environments, warnings = _run(texts[RUN])
        return Bundle(run, environments, warnings, _trials(texts[VALUES], run))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}): name a file of `keybench export --bundle`."
        ) from None
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError, RuntimeError):
        raise UsageError(f"{path} is no bundle, or a damaged one: name a file of `keybench export --bundle`.") from None
    except csv.Error as error:
        raise UsageError(f"{path} is refused: {VALUES} is not CSV ({error}); {_AGAIN}.") from None
    except _Wrong as error:
        raise UsageError(f"{path} is refused: {error}; {error.step}.") from None


def _texts(archive: zipfile.ZipFile) -> dict[str, str]:
    """The text of each file that the manifest lists, by name; `_Wrong` if the schema, the list or a sum is wrong."""
    names = archive.namelist()
    if MANIFEST not in names:
        raise _Wrong(f"it has no {MANIFEST}", "name a file of `keybench export --bundle`")
    manifest = _object(_entry(archive, MANIFEST), MANIFEST)
    schema = manifest.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise _Wrong(f"it has schema {schema}, and keybench {keybench.__version__} knows {SCHEMA}", "update keybench")
    if schema != SCHEMA:
        raise _Wrong(f"its schema is {shortened(schema)} and not {SCHEMA}")
    listed = manifest.get("files")
    if not isinstance(listed, dict) or set(listed) != set(FILES):
        raise _Wrong(f"{MANIFEST} does not list {', '.join(FILES)}")
    if sorted(names) != sorted([MANIFEST, *FILES]):
        raise _Wrong(f"it does not hold {MANIFEST}, {', '.join(FILES)}, each once and nothing else")
    texts = {}
    for name in FILES:
        data = _entry(archive, name)
        expected = listed[name].get("sha256") if isinstance(listed[name], dict) else None
        if sha256(data).hexdigest() != expected:
            raise _Wrong(f"the sum of {name} does not fit, so it was changed or damaged after it was written")
        texts[name] = _text(data, name)
    return texts


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of one file; its stated size is checked before it is unpacked."""
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise _Wrong(f"{name} has more than {MOST_BYTES >> 20} MiB", "bundle a smaller run")
    return archive.read(name)


def _text(data: bytes, name: str) -> str:
    """The text of the file of this name; `_Wrong` if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _Wrong(f"{name} is not UTF-8") from None


def _object(data: bytes | str, name: str) -> dict[str, Any]:
    """The JSON object that the file of this name holds."""
    try:
        content = parsers.from_json(data if isinstance(data, str) else _text(data, name))
    except ValueError as error:
        raise _Wrong(f"{name} is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise _Wrong(f"{name} is not a JSON object")
    return content


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


_Columns = list[str] | dict[str, list[str]] | None


class _Pairing(_Part, extra="forbid"):
    default: str
    suited: str
    ordered: bool
    suiting: list[str]


class _Scenario(_Part):
    title: str = ""
    load: dict[str, Any] = {}
    columns: _Columns = None


class _Definition(_Part):
    """What readers of a definition rely on; it may hold more."""

    titles: dict[str, str] = {}
    pairings: dict[str, dict[str, _Pairing]] = {}
    columns: _Columns = None
    scenario: _Scenario = _Scenario()


class _Server(_Part, extra="forbid"):
    database: str
    server: str
    versions: dict[str, str]
    settings: dict[str, str]
    cache_bytes: int


class _RunFile(_Part, extra="forbid"):
    """The schema of `RUN`."""

    id: Annotated[str, Field(pattern="^[0-9A-Za-z]+$")]
    started: Annotated[AwareDatetime, Field(strict=False)]
    keybench: str
    command: str
    seed: Annotated[str, Field(pattern="^[0-9]{1,101}$")]
    blocks: int
    scenario: str
    profile: str
    definition: _Definition
    machine: dict[str, str | int | float | bool | None]
    environments: list[_Server]
    warnings: list[str]


def _run(text: str) -> tuple[Run, tuple[Environment, ...], tuple[str, ...]]:
    """The run, its servers' environments and its warnings, from the text of `RUN`."""
    content = _object(text, RUN)
    try:
        checked = _RunFile.model_validate(content)
    except ValidationError as error:
        raise _Wrong(f"{RUN} does not fit the schema at {shortened(error.errors()[0]['loc'][0])}") from None
    plain = {field.name: content[field.name] for field in fields(Run)}
    run = Run(**plain | {"started": checked.started, "seed": int(checked.seed)})
    return run, tuple(Environment(**one.model_dump()) for one in checked.environments), tuple(checked.warnings)


def _trials(text: str, run: Run) -> tuple[Trial, ...]:
    """The trials by block and position, from the text of `VALUES`: a line for each value, or for a failed trial."""
    table = csv.reader(io.StringIO(text))
    if tuple(next(table, ())) != COLUMNS:
        raise _Wrong(f"{VALUES} does not have the columns of its schema")
    trials: dict[tuple[int, int], Trial] = {}
    readings: dict[tuple[int, int], list[Reading]] = {}
    for line, cells in enumerate(table, start=2):  # as people count lines; the first has the columns
        try:
            row = dict(zip(COLUMNS, cells, strict=True))
            trial = _trial(row, run)
            place = trial.block, trial.position
            if trials.setdefault(place, trial) != trial:
                raise _Wrong("the trial differs from an earlier line")
            of_trial = readings.setdefault(place, [])
            if row["metric"]:
                of_trial.append(_reading(row, trial))
        except _Wrong as error:
            raise _Wrong(f"{VALUES}, line {line}: {error}", error.step) from None
        except ValueError as error:
            raise _Wrong(f"{VALUES}, line {line}: {error}") from None
    if not trials:
        raise _Wrong(f"{VALUES} holds no values")
    return tuple(replace(trial, readings=tuple(readings[place])) for place, trial in sorted(trials.items()))


def _trial(row: Mapping[str, str], run: Run) -> Trial:
    """The trial that a line is about, without its reading. Raises `_Wrong` or ValueError if the line does not fit."""
    if row["run"] != run.id:
        raise _Wrong(f"the run {shortened(row['run'])} is not {run.id}")
    numbers: dict[str, Any] = {name: int(row[name]) for name in _NUMBERS}
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
    texts: dict[str, Any] = {name: row[name] for name in _TEXTS}
    return Trial(**texts, **numbers, started=started, seconds=seconds)


def _reading(row: Mapping[str, str], trial: Trial) -> Reading:
    """The value of a line. Raises `_Wrong` or ValueError if it does not fit, or is a time that a licence restricts."""
    if row["metric"] not in set(Metric):
        raise _Wrong(f"keybench {keybench.__version__} does not know the metric {shortened(row['metric'])}")
    value = _number(row["value"]) if row["value"] else None
    origin = row["origin"]
    if origin not in get_args(Origin) or (value is None) != (origin == "absent"):
        raise _Wrong(f"the origin is {shortened(origin)}")
    metric, subject = Metric(row["metric"]), Subject.parse(row["object"])
    reading = Reading(metric, value, cast("Origin", origin), reason=row["reason"], subject=subject)
    if row["unit"] != unit(trial.database, reading):
        if trial.database in RESTRICTED and reading.metric.definition.is_time:
            raise _Wrong(_licence(trial.database))
        raise _Wrong(f"the unit of {reading.metric} is {shortened(row['unit'])}")
    return reading


def _licence(database: str) -> str:
    return f"absolute times of {RESTRICTED[database]}, whose licence restricts publishing them"


def _number(text: str) -> float:
    """The number that a cell holds; ValueError if it is none, or not finite."""
    value = float(text)
    if not isfinite(value):
        raise _Wrong(f"{text} is no number")
    return value
