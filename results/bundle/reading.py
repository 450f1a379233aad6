"""Reads a bundle and refuses one whose sums or schema do not fit, or that takes more room than a run.

A bundle comes from a stranger. A few bytes of a ZIP archive can stand for gigabytes, and a text takes many times its
size when it is parsed. So what is unpacked is counted as it comes, and each limit below bounds what can become of it.
"""

import csv
import io
import os
import re
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
from keybench.results.store.rows import RETIRED_METRICS

MOST_ARCHIVE: Final = 6 << 20
"""Bytes of the packed file: its list of entries takes ten times its size when it is read."""
MOST_BYTES: Final = {VALUES: 24 << 20}
"""Bytes of a file in a bundle. A hundred thousand values take twenty million."""
MOST_OTHER_BYTES: Final = 1 << 20
"""Bytes of any other file. Each byte of JSON can take forty of memory."""
MOST_TRIALS: Final = 10_000
MOST_READINGS: Final = 150_000
MOST_LINE: Final = 10_000
"""Bytes of a line of `VALUES`."""
MOST_TEXT: Final = 1 << 20
"""Characters of all different texts of `VALUES` together."""

_ESCAPED: Final = re.compile(r'(?<!\\)(?:\\\\)*\\[^"\\/]')
"""A character that JSON writes as an escape although it could stand for itself, or that cannot be printed."""
_METRICS: Final = frozenset(Metric)
_PIECE: Final = 1 << 16
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
    files: Mapping[str, bytes]
    """The checked files by name, which can be packed again without what else the archive holds."""


class _Wrong(ValueError):
    """What does not fit in a bundle, and the next step: by default, to ask for the file again."""

    def __init__(self, what: str, step: str = _AGAIN) -> None:
        super().__init__(what)
        self.step = step


def read_bundle(path: Path) -> Bundle:
    """The run in a bundle. Raises UsageError if it is no bundle, or its sums or schema do not fit."""
    try:
        with parsers.regular_file(path) as file:
            if file.seek(0, os.SEEK_END) > MOST_ARCHIVE:  # zipfile reads the whole list of entries at once
                raise _Wrong(f"it has more than {MOST_ARCHIVE >> 20} MiB", "bundle a smaller run")
            with zipfile.ZipFile(file) as archive:
                files = _files(archive)
        run, environments, warnings = _run(_text(files[RUN], RUN))
        return Bundle(run, environments, warnings, _trials(files[VALUES], run), files)
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


def _files(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The files of the archive by name. `_Wrong` if one is missing, too many, or does not fit its sum."""
    names = archive.namelist()
    if MANIFEST not in names:
        raise _Wrong(f"it has no {MANIFEST}", "name a file of `keybench export --bundle`")
    manifest = _object(_text(_unpacked(archive, MANIFEST), MANIFEST), MANIFEST)
    schema = manifest.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise _Wrong(f"it has schema {schema}, and keybench {keybench.__version__} knows {SCHEMA}", "update keybench")
    if schema != SCHEMA:
        raise _Wrong(f"its schema is {shortened(schema)} and not {SCHEMA}")
    sums = manifest.get("files")
    if not isinstance(sums, dict) or set(sums) != set(FILES):
        raise _Wrong(f"{MANIFEST} does not list {', '.join(FILES)}")
    if sorted(names) != sorted([MANIFEST, *FILES]):
        raise _Wrong(f"it does not hold {MANIFEST}, {', '.join(FILES)}, each once and nothing else")
    files = {}
    for name in FILES:
        data = _unpacked(archive, name)
        expected = sums[name].get("sha256") if isinstance(sums[name], dict) else None
        if sha256(data).hexdigest() != expected:
            raise _Wrong(f"the sum of {name} does not fit, so it was changed or damaged after it was written")
        files[name] = data
    return files


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of one file, read in pieces and refused once it is over its limit: its stated size may be wrong."""
    if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _Wrong(f"{name} is packed by another method than deflate")  # zipfile unpacks others without a limit
    most = MOST_BYTES.get(name, MOST_OTHER_BYTES)
    data = bytearray()
    with archive.open(name) as file:
        while piece := file.read(_PIECE):
            data += piece
            if len(data) > most:
                raise _Wrong(f"{name} has more than {most >> 20} MiB", "bundle a smaller run")
    return bytes(data)


def _text(data: bytes, name: str) -> str:
    """The text of the file of this name; `_Wrong` if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _Wrong(f"{name} is not UTF-8") from None


def _object(text: str, name: str) -> dict[str, Any]:
    """The JSON object that the file of this name holds."""
    try:
        content = parsers.from_json(text)
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
    one_line = text.translate(dict.fromkeys(map(ord, "\t\n\r")))  # these stand between JSON's values
    if _ESCAPED.search(text) or not one_line.isprintable():
        raise _Wrong(f"{RUN} has characters that cannot be printed")
    try:
        checked = _RunFile.model_validate(content)
    except ValidationError as error:
        raise _Wrong(f"{RUN} does not fit the schema at {shortened(error.errors()[0]['loc'][0])}") from None
    plain = {field.name: content[field.name] for field in fields(Run)}
    run = Run(**plain | {"started": checked.started, "seed": int(checked.seed)})  # texts in JSON
    return run, tuple(Environment(**one.model_dump()) for one in checked.environments), tuple(checked.warnings)


class _Texts(dict[str, str]):
    """The texts of a table, each once, however often it stands there. Raises `_Wrong` if they are too long together, or
    if one has characters that could change a terminal."""

    room = MOST_TEXT

    def __missing__(self, text: str) -> str:
        self.room -= len(text)
        if self.room < 0:
            raise _Wrong(f"it has more than {MOST_TEXT:,} characters of different texts", "bundle a smaller run")
        if not text.isprintable():
            raise _Wrong(f"{shortened(text)} has characters that cannot be printed")
        self[text] = text
        return text


def _trials(data: bytes, run: Run) -> tuple[Trial, ...]:
    """The trials by block and position, from the content of `VALUES`: a line for each value, or for a failed trial."""
    lines, texts = io.BytesIO(data), _Texts()
    trials: dict[tuple[int, int], Trial] = {}
    readings: dict[tuple[int, int], list[Reading]] = {}
    if _cells(lines.readline()) != list(COLUMNS):
        raise _Wrong(f"{VALUES} does not have the columns of its schema")
    for number, line in enumerate(lines, start=2):
        try:
            row = dict(zip(COLUMNS, _cells(line), strict=True))
            trial = _trial(row, run, texts)
            place = trial.block, trial.position
            if trials.setdefault(place, trial) != trial:
                raise _Wrong("the trial differs from an earlier line")
            of_trial = readings.setdefault(place, [])
            if row["metric"] and row["metric"] not in RETIRED_METRICS:
                of_trial.append(_reading(row, trial, texts))
            if len(trials) > MOST_TRIALS or number > MOST_READINGS:
                raise _Wrong(
                    f"a bundle has at most {MOST_TRIALS:,} trials and {MOST_READINGS:,} values", "bundle a smaller run"
                )
        except _Wrong as error:
            raise _Wrong(f"{VALUES}, line {number}: {error}", error.step) from None
        except ValueError as error:
            raise _Wrong(f"{VALUES}, line {number}: {error}") from None
    if not trials:
        raise _Wrong(f"{VALUES} holds no values")
    return tuple(replace(trial, readings=tuple(readings[place])) for place, trial in sorted(trials.items()))


def _cells(line: bytes) -> list[str]:
    """The cells of one line. Lines are parsed one by one: no cell of a bundle holds the end of a line, and a table of
    commas or of quotation marks alone would become one list of all its cells."""
    if len(line) > MOST_LINE:
        raise _Wrong(f"the line has more than {MOST_LINE:,} bytes")
    return next(csv.reader([_text(line, VALUES)], strict=True), [])


def _trial(row: Mapping[str, str], run: Run, texts: _Texts) -> Trial:
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
    if not row["layout"].strip():
        raise _Wrong("a trial has no layout")
    if row["database"] in RESTRICTED and (seconds or started != run.started):
        raise _Wrong(_licence(row["database"]))
    words: dict[str, Any] = {name: texts[row[name]] for name in _TEXTS}
    return Trial(**words, **numbers, started=started, seconds=seconds)


def _reading(row: Mapping[str, str], trial: Trial, texts: _Texts) -> Reading:
    """The value of a line. Raises `_Wrong` or ValueError if it does not fit, or is a time that a licence restricts."""
    if row["metric"] not in _METRICS:
        raise _Wrong(f"keybench {keybench.__version__} does not know the metric {shortened(row['metric'])}")
    value = _number(row["value"]) if row["value"] else None
    origin = row["origin"]
    if origin not in get_args(Origin) or (value is None) != (origin == "absent"):
        raise _Wrong(f"the origin is {shortened(origin)}")
    metric, subject = Metric(row["metric"]), Subject.parse(texts[row["object"]])
    reading = Reading(metric, value, cast("Origin", origin), reason=texts[row["reason"]], subject=subject)
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
