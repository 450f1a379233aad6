"""What a bundle must not hold: secrets, paths, names of hosts and users, and times that a licence keeps private.

Known fields are taken one by one; free text that could name a place is left out as a whole. Errors of failed trials are
free text of servers and drivers, so they are always left out.

SQL Server's and Oracle's licences restrict publishing benchmark results. Ratios and counts may be published. Absolute
times may not, and neither may what they can be computed from.
"""

import getpass
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from keybench.model.names import COMPUTED, CONTROL, NO_DATABASE
from keybench.model.reading import Reading
from keybench.model.subject import Subject, SubjectKind
from keybench.results.store.records import Environment, Run, Trial

LEFT_OUT: Final = "(left out: it may name a place)"
FAILED: Final = "(the message of the error is left out: it may name a place)"

_KINDS: Final = frozenset({"container", "local", "embedded", "url"}) | COMPUTED
_MACHINE: Final = ("cpu", "cores", "memory_bytes", "system", "python", "keybench", "load_1min")
_DEFINITION: Final = ("titles", "pairings", "columns", "layouts", "rows", "blocks", "databases")
_NAMES_OF_PLACES: Final = frozenset(
    {"address", "addresses", "basedir", "cluster", "datadir", "dir", "directory", "host", "hostname", "instance"}
    | {"name", "password", "port", "secret", "servername", "socket", "url", "user", "username"}
)
"""Words in the names of settings whose values are never taken."""
_PLACE: Final = re.compile(
    r"""[\w+.-]+://            # a URL
    | (?<![\w.])[~.]?[/\\]\w    # a path from the root, the home or the working folder
    | \b[A-Za-z]:[/\\]          # a path on Windows
    | \w[/\\][\w.-]+[/\\]       # a path of several folders
    | \S@\S                     # user@host
    | \b\d{1,3}(?:\.\d{1,3}){3}\b               # an IPv4 address
    | \b[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,}     # an IPv6 address
    | \b(?!(?:information_schema|performance_schema|pg_catalog|sys|mysql)\.)
      [a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b  # a host's name
    | pass(?:word|wd)\s*=
    """,
    re.VERBOSE | re.IGNORECASE,
)


def public_run(run: Run) -> Run:
    """The run with known fields alone; its command is made anew from what was measured."""
    kept = {name: _public(run.definition[name]) for name in _DEFINITION if name in run.definition}
    if isinstance(scenario := run.definition.get("scenario"), Mapping):
        kept["scenario"] = _public(scenario)
    named = public_text(run.scenario, "own")
    return replace(
        run,
        command=_command(run, named),
        scenario=named,
        profile=public_text(run.profile),
        definition=kept,
        machine={name: _public(run.machine[name]) for name in _MACHINE if name in run.machine},
    )


def public_environment(environment: Environment) -> Environment:
    """The environment without settings that name or could name a place."""
    return replace(
        environment,
        server=_server(environment.server),
        versions=_without_places(environment.versions),
        settings=_without_places(environment.settings),
    )


def public_trial(trial: Trial) -> Trial:
    """The trial without messages of errors, series and pictures' data; texts that could name a place are left out."""
    public = [replace(one, reason=public_text(one.reason), subject=_subject(one.subject)) for one in trial.readings]
    # Writers whose names are left out are one.
    readings = {(one.metric, one.subject): one for one in public}
    return replace(
        trial,
        server=trial.server if trial.database == NO_DATABASE else _server(trial.server),
        layout=public_text(trial.layout, "own"),
        scenario=public_text(trial.scenario, "own"),
        error=FAILED if trial.error else "",
        traceback="",
        readings=tuple(readings.values()),
        series=(),
        blobs=(),
    )


def public_text(text: str, otherwise: str = LEFT_OUT) -> str:
    """The text, or another if it could name a place, this machine or its user."""
    return otherwise if names_a_place(text) else text


def names_a_place(text: str) -> bool:
    """Whether a text holds what looks like a URL, a path, an address or a host, or the names of this one."""
    return bool(_PLACE.search(text)) or any(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in _here() if len(name) > 1
    )


def _here() -> tuple[str, ...]:
    """The names of this host and its user; empty for names that are also common words."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        user = ""
    return platform.node(), "" if user == "root" or len(user) < 3 else user  # shorter ones are words


def _public(value: Any) -> Any:
    """A value of JSON without texts that could name a place."""
    if isinstance(value, str):
        return public_text(value)
    if isinstance(value, Mapping):
        return {public_text(str(name)): _public(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_public(one) for one in value]
    return value


def _without_places(values: Mapping[str, str]) -> dict[str, str]:
    """The settings or versions whose name and value could not name a place."""
    return {
        name: value
        for name, value in values.items()
        if not (names_a_place(str(value)) or names_a_place(name) or {*re.split(r"[\W_]+", name)} & _NAMES_OF_PLACES)
    }


def _server(name: str) -> str:
    """The kind of server; any other name is that of the user's own server, `url`."""
    return name if name in _KINDS else "url"


def _subject(subject: Subject) -> Subject:
    """The subject, without a writer's name that could name a place."""
    if subject.kind == SubjectKind.WRITER and names_a_place(subject.name):
        return Subject.writer("writer")
    return subject


def _command(run: Run, scenario: str) -> str:
    """A command that measures the same again, made from the run's definition."""
    words = ["keybench run"]
    for option, field in (("--db", "databases"), ("--layout", "layouts")):
        listed = run.definition.get(field)
        if isinstance(listed, list | tuple) and listed:
            words.append(f"{option} {','.join(public_text(str(one), 'own') for one in listed)}")
    if run.columns:
        words.append(f"--column {','.join(run.columns)}")
    words.append(f"--scenario {scenario}")
    if isinstance(rows := run.definition.get("rows"), int):
        words.append(f"--rows {rows}")
    return f"{' '.join(words)} --blocks {run.blocks} --seed {run.seed}"


RESTRICTED: Final = {"mssql": "SQL Server", "oracle": "Oracle Database"}
"""Products whose licences restrict publishing benchmark results."""

RELATIVE: Final = "× control"
"""The unit of a published time of theirs: over the control's in the same block."""

NO_CONTROL: Final = "The licence allows a ratio to the control alone, and this block has no such time of the control."

_DURATION: Final = re.compile(r"\d\s*(?:s|ms|µs|ns|seconds|minutes|rows/s|rows a second)\b")

_Work = tuple[int, str, str, int, int, int]
"""Block, database, server, payload, rows and writers of a trial: one control at most has the same."""

_Times = Mapping[_Work, Mapping[tuple[object, object], float]]
"""The control's times by metric and subject."""


def publishable(run: Run, trials: Sequence[Trial]) -> list[Trial]:
    """The trials, with the times of `RESTRICTED` databases as ratios to the control of the same block.

    Such a trial also loses its duration, the time at which it began, and its series.
    """
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


def publishable_texts(trials: Sequence[Trial], texts: Sequence[str]) -> list[str]:
    """The texts about these trials; if a server of a `RESTRICTED` database took part, without those with a duration."""
    restricted = any(trial.database in RESTRICTED for trial in trials)
    return [text for text in texts if not (restricted and _DURATION.search(text))]


def unit(database: str, reading: Reading) -> str:
    """The unit of a publishable reading."""
    about = reading.metric.definition
    return RELATIVE if database in RESTRICTED and about.is_time else about.unit


def _work(trial: Trial) -> _Work:
    """What a trial shares with the control that its times are divided by."""
    return trial.block, trial.database, trial.server, trial.payload, trial.rows, trial.writers


def _relative(run: Run, trial: Trial, times: _Times) -> Trial:
    """The trial with each time over the control's; without what its duration could be computed from."""
    control = times.get(_work(trial), {})
    readings = []
    for one in trial.readings:
        if one.value is not None and _DURATION.search(one.reason):
            one = replace(one, reason="")
        if not one.metric.definition.is_time or one.value is None:
            readings.append(one)
        elif base := control.get((one.metric, one.subject)):
            readings.append(replace(one, value=one.value / base, origin="derived"))
        else:
            readings.append(replace(one, value=None, origin="absent", reason=NO_CONTROL))
    return replace(trial, readings=tuple(readings), series=(), blobs=(), started=run.started, seconds=0.0)
