"""What a bundle may hold: numbers and the words that keybench itself defines, and no text of anybody else.

Known fields are taken one by one. Other names are numbered, so that they stay apart (`writer 3`), and other texts are
replaced by their kind ("an error"). So nothing has to be recognised as private.

SQL Server's and Oracle's licences restrict publishing benchmark results. Ratios and counts may be published. Absolute
times may not, and neither may what they can be computed from.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from keybench.model.names import COMPUTED, CONTROL, NO_DATABASE
from keybench.model.printable import printable
from keybench.model.reading import Reading
from keybench.model.subject import Subject, SubjectKind
from keybench.results.bundle.known import settings, titles, words
from keybench.results.store.blobs import Blob
from keybench.results.store.records import Environment, Run, Trial

TEXT: Final = "a text"
ERROR: Final = "an error, whose message is left out"
REASON: Final = "The reason is left out."

_SERVER_KINDS: Final = frozenset({"container", "local", "embedded", "url"}) | COMPUTED
_DEFINITION: Final = ("pairings", "columns", "layouts", "rows", "blocks", "databases")
_SCENARIO: Final = ("rows", "blocks", "columns", "table", "load")
"""Known fields of a run's definition and of the scenario in it."""
_HARDWARE: Final = frozenset(
    {"Intel(R)", "Xeon(R)", "Core(TM)", "Intel", "AMD", "EPYC", "Ryzen", "Apple", "Ampere", "ARM", "Neoverse", "CPU"}
    | {"Processor", "Linux", "Darwin", "Windows", "x86_64", "aarch64", "arm64", "AMD64"}
)
_VERSIONED: Final = frozenset(
    {"keybench", "numpy", "numba", "apsw", "psycopg", "libpq", "pymysql", "pyodbc", "mssql_python", "oracledb"}
)
"""What has a version besides databases."""
_LONGEST: Final = 1_000
"""Characters of a foreign text: a server's log may be in it."""
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)*")
"""A number or a version at the beginning of a word: the digits of a name, as in `db01`, are none."""
_SIZE: Final = re.compile(r"-?\d+(?:\.\d+)? ?(?:[kKMGT]i?B?|B|bytes|[mun]?s|min|h|d|%)?")
"""A number with its unit, as servers write their settings."""

Names = Mapping[str, str]
"""What stands for each name that keybench does not know."""


class Texts(dict[str, str]):
    """`Names` for a bundle with foreign texts: each text stands for itself. `stand_in` collects them here."""


def public_names(run: Run, trials: Iterable[Trial]) -> Names:
    """What stands for each name of a layout, column, database, scenario, writer or wait that is not keybench's, such as
    `writer 3`. If things of several kinds have the same name, its first kind counts for all of them."""
    trials = list(trials)
    subjects = [reading.subject for trial in trials for reading in trial.readings]
    planned = [one for one in run.part("scenario").get("writer") or () if isinstance(one, Mapping)]
    by_kind = {
        "user's layout": [trial.layout for trial in trials],
        "user's column": [trial.column for trial in trials],
        "user's database": [trial.database for trial in trials],
        "user's scenario": [_without_payload(name) for name in (run.scenario, *(trial.scenario for trial in trials))],
        "writer": [*(str(one.get("id")) for one in planned), *_of_kind(subjects, SubjectKind.WRITER)],
        "wait": _of_kind(subjects, SubjectKind.WAIT),
    }
    names: dict[str, str] = {}
    for kind, all_names in by_kind.items():
        foreign = dict.fromkeys(name for name in all_names if name not in words() and name not in names)
        names |= {name: f"{kind} {number}" for number, name in enumerate(foreign, start=1)}
    return names


def _of_kind(subjects: Iterable[Subject], kind: SubjectKind) -> list[str]:
    return [subject.name for subject in subjects if subject.kind == kind]


def _without_payload(scenario: str) -> str:
    """The name of the scenario without the `--payload` of its run, which its trials say too."""
    return scenario.partition(", payload ")[0]


def public_run(run: Run, names: Names) -> Run:
    """The run with known fields alone; its command is made anew from them."""
    definition = {name: _public(run.definition[name], names) for name in _DEFINITION if name in run.definition}
    if "titles" in run.definition:
        definition["titles"] = {name: title for name, title in titles().items() if name in run.part("titles")}
    if "scenario" in run.definition:
        scenario = run.part("scenario")
        field_names = (*_SCENARIO, "title") if isinstance(names, Texts) else _SCENARIO  # a foreign text
        definition["scenario"] = {name: _public(scenario[name], names) for name in field_names if name in scenario}
    machine = {
        name: _public(run.machine[name], names)
        for name in ("cores", "memory_bytes", "load_1min")
        if isinstance(run.machine.get(name), int | float)
    }
    for name in ("cpu", "system", "python", "keybench"):
        if name in run.machine:
            machine[name] = _hardware(str(run.machine[name]))
    public = replace(
        run,
        keybench=_hardware(run.keybench),
        scenario=_word(_without_payload(run.scenario), names),
        profile=_word(run.profile, names),
        definition=definition,
        machine=machine,
    )
    return replace(public, command=_command(public))


def public_environment(environment: Environment, names: Names) -> Environment:
    """The environment with known settings that have known values, and with versions as numbers."""
    versioned = _VERSIONED | titles().keys() | set(titles().values())
    return replace(
        environment,
        database=_word(environment.database, names),
        server=_server(environment.server),
        versions={
            name: found[0]
            for name, text in environment.versions.items()
            if name in versioned and (found := _NUMBER.search(text))
        },
        settings={
            name: value
            for name, value in environment.settings.items()
            if name in settings() and (_SIZE.fullmatch(value) or value.lower() in settings()[name])
        },
    )


def public_trial(trial: Trial, names: Names) -> Trial:
    """The trial without messages, series and pictures' data, and with numbers for foreign names."""
    return replace(
        trial,
        database=_word(trial.database, names),
        server=trial.server if trial.database == NO_DATABASE else _server(trial.server),
        column=_word(trial.column, names),
        layout=_word(trial.layout, names),
        scenario=_word(_without_payload(trial.scenario), names),
        error=stand_in(trial.error, names, ERROR),
        traceback="",
        readings=tuple(
            replace(
                one,
                reason=stand_in(one.reason, names, REASON) if one.value is None else "",
                subject=_subject(one.subject, names),
            )
            for one in trial.readings
        ),
        series=(),
        blobs=(),
    )


def public_blob(blob: Blob, names: Names) -> Blob:
    """The data of a picture, without the note on them and with numbers for foreign writers."""
    about = {**blob.about, "note": ""}
    if "writers" in about:
        about["writers"] = [_word(str(writer), names) for writer in about["writers"]]
    return Blob.pack(blob.kind, about, blob.arrays)


def _word(text: str, names: Names) -> str:
    """A word that keybench defines, or what stands for a name; `TEXT` for any other text."""
    return text if text in words() else stand_in(text, names, TEXT)


def stand_in(text: str, names: Names, kind: str) -> str:
    """What stands for a foreign text: the text in one line, if `names` are `Texts`, to which it is added; else the
    name's number or, if it is no name, its `kind`. Nothing stands for an empty text."""
    if text and isinstance(names, Texts):
        names[text] = printable(" ".join(text.split()))[:_LONGEST]
    return names.get(text, kind) if text else ""


def _public(value: Any, names: Names) -> Any:
    """A value of JSON with numbers, known words and what stands for names; without fields of unknown names."""
    if isinstance(value, str):
        return _word(value, names)
    if isinstance(value, Mapping):
        public = {_word(str(name), names): _public(part, names) for name, part in value.items()}
        return {name: part for name, part in public.items() if name != TEXT}
    if isinstance(value, list | tuple):
        return [_public(part, names) for part in value]
    return value


def _hardware(text: str) -> str:
    """Only the known words and the numbers of a text on a processor, a system or a version."""
    public = []
    for word in text.split():
        if word in _HARDWARE:
            public.append(word)
        elif found := _NUMBER.match(word):
            public.append(found[0])
    return " ".join(public)


def _server(name: str) -> str:
    """The kind of server; any other name is that of the user's own server, `url`."""
    return name if name in _SERVER_KINDS else "url"


def _subject(subject: Subject, names: Names) -> Subject:
    """The subject; of writers and waits, whose names users and servers choose, with what stands for the name."""
    if subject.kind in (SubjectKind.WRITER, SubjectKind.WAIT):
        return replace(subject, name=_word(subject.name, names))
    return subject


def _command(run: Run) -> str:
    """A command that measures the same again, made from the public run."""
    lists = {
        "--db": run.definition.get("databases"),
        "--layout": run.definition.get("layouts"),
        "--column": list(run.columns),
    }
    options = [f"{option} {','.join(names)}" for option, names in lists.items() if isinstance(names, list) and names]
    options.append(f"--scenario {run.scenario}")
    if isinstance(rows := run.definition.get("rows"), int):
        options.append(f"--rows {rows}")
    return f"keybench run {' '.join(options)} --blocks {run.blocks} --seed {run.seed}"


RESTRICTED: Final = {"mssql": "SQL Server", "oracle": "Oracle Database"}
"""Products whose licences restrict publishing benchmark results."""

RELATIVE: Final = "× control"
"""The unit of a published time of theirs: over the control's in the same block."""

NO_CONTROL: Final = "The licence allows a ratio to the control alone, and this block has no such time of the control."

_Work = tuple[int, str, str, int, int, int]
"""Block, database, server, payload, rows and writers of a trial: one control at most has the same."""

_Times = Mapping[_Work, Mapping[tuple[object, object], float]]
"""The control's times by metric and subject."""


def publishable(run: Run, trials: Sequence[Trial]) -> list[Trial]:
    """The trials, with the times of `RESTRICTED` databases as ratios to the control of the same block. Such a trial
    also loses its duration, the time at which it began, and its series."""
    times: dict[_Work, dict[tuple[object, object], float]] = {}
    for trial in trials:
        if trial.database in RESTRICTED and trial.layout == CONTROL and trial.status == "ok":
            times[_work(trial)] = {
                (one.metric, one.subject): one.value
                for one in trial.readings
                if one.metric.definition.is_time and one.value is not None and one.value > 0
            }
    return [_relative(run, trial, times) if trial.database in RESTRICTED else trial for trial in trials]


def without_times(trials: Sequence[Trial]) -> list[Trial]:
    """The trials of `RESTRICTED` databases with their times absent, for tables that show no ratios."""
    return [_without_times(trial) if trial.database in RESTRICTED else trial for trial in trials]


def _without_times(trial: Trial) -> Trial:
    """The trial without series, and with the licence as the reason in place of each time."""
    why = (
        f"The licence of {RESTRICTED[trial.database]} restricts publishing times: only ratios to the control are shown."
    )
    readings = [
        replace(one, value=None, origin="absent", reason=why)
        if one.metric.definition.is_time and one.value is not None
        else one
        for one in trial.readings
    ]
    return replace(trial, readings=tuple(readings), series=())


def unit(database: str, reading: Reading) -> str:
    """The unit of a publishable reading."""
    about = reading.metric.definition
    return RELATIVE if database in RESTRICTED and about.is_time else about.unit


def _work(trial: Trial) -> _Work:
    """Block, database, server, payload, rows and writers: what a trial shares with the control of its times."""
    return trial.block, trial.database, trial.server, trial.payload, trial.rows, trial.writers


def _relative(run: Run, trial: Trial, times: _Times) -> Trial:
    """The trial with each time as a ratio to the control's; without what its duration could be computed from."""
    control = times.get(_work(trial), {})
    readings = []
    for one in trial.readings:
        if not one.metric.definition.is_time or one.value is None:
            readings.append(one)
        elif base := control.get((one.metric, one.subject)):
            readings.append(replace(one, value=one.value / base, origin="derived"))
        else:
            readings.append(replace(one, value=None, origin="absent", reason=NO_CONTROL))
    return replace(trial, readings=tuple(readings), series=(), blobs=(), started=run.started, seconds=0.0)
