"""The file that is sent in: one ZIP with verdicts, results, report, log, versions and environment."""

from __future__ import annotations

import io
import json
import platform
import re
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import keybench
from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.results import tidy
from keybench.results.atomic_file import atomic_file
from keybench.results.report.page import write_report
from keybench.results.store.database import Store
from keybench.runners.measuring import machine
from keybench.runners.verify.findings import Finding
from keybench.runners.verify.log import LOG
from keybench.runners.verify.private import Private, without_times

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
"""In a command line, such as that of a results database."""
_NAME = re.compile(r"[^A-Za-z0-9_.-]")

ABOUT = """\
The answers of {title} to the questions of keybench {version}.

verdicts.txt      each question with its verdict and its meaning
verdicts.json     the same for programs
report.html       the report on the runs: open it in a browser
results.sqlite    the runs, for `keybench report latest --results results.sqlite` and the other commands
values.csv        every value of every trial, one a row
environment.json  versions of keybench, Python and its packages; machine; versions and settings of the server
log.txt           what the command printed

There are no times, no passwords, and no places of the machine in it: home folder, working folder and the name of a
server are replaced. Look through it before you send it.

Send it as an issue of the repository that you have keybench from, with the template "verification". Verdicts and page
counts may be published. Absolute times of SQL Server and Oracle may not, by their licences: they are left out.
"""


def write_bundle(
    path: Path, on: Engine, store: Store, run_ids: Sequence[str], verdicts: Sequence[Finding], log: Path, server: str
) -> None:
    """Writes the file, atomically. Raises UsageError if it cannot be written."""
    private = Private([server, *(url for run in run_ids for url in _URL.findall(store.run(run).command))])
    with tempfile.TemporaryDirectory(prefix="keybench-verify-") as folder:
        results = Path(folder) / "results.sqlite"
        with Store.open(str(results), write=True) as copy:
            _copy(store, copy, run_ids, private)
            rows = [row for run in run_ids for row in tidy.rows_of(copy, copy.run(run))]
            environments = [asdict(one) for run in run_ids for one in copy.environments(run)]
            report = write_report(copy, run_ids, Path(folder) / "report.html") if run_ids else None
        values = io.StringIO()
        tidy.write_csv(rows, values)
        parts: dict[str, str | Path] = {
            "README.txt": ABOUT.format(title=on.title, version=keybench.__version__),
            "verdicts.txt": private.text(verdicts_text(on, verdicts)),
            "verdicts.json": _json(private.record(verdicts_data(on, verdicts))),
            "values.csv": values.getvalue(),
            "environment.json": _json(private.record(_environment(environments))),
            LOG: private.text(log.read_text(encoding="utf-8")),
            "results.sqlite": results,
            **({"report.html": report} if report else {}),
        }
        try:
            with atomic_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in parts.items():
                    archive.writestr(name, content.read_bytes() if isinstance(content, Path) else content)
        except OSError as error:
            raise UsageError(f"{path} cannot be written ({error.strerror}): give --output another file.") from None


def verdicts_text(on: Engine, verdicts: Sequence[Finding]) -> str:
    """Each verdict in a line, with the meaning of its question below."""
    lines = [f"{on.title}, keybench {keybench.__version__}", ""]
    for one in verdicts:
        lines += [one.line, f"    {one.question.meaning}", ""]
    return "\n".join(lines)


def verdicts_data(on: Engine, verdicts: Sequence[Finding]) -> dict[str, Any]:
    """The verdicts as plain values."""
    return {
        "database": on.name,
        "keybench": keybench.__version__,
        "verdicts": [
            {
                "question": one.question.statement,
                "verdict": one.outcome,
                "evidence": one.evidence,
                "trials": one.trials,
                "meaning": one.question.meaning,
                "loads": [load.name for load in one.question.loads],
            }
            for one in verdicts
        ],
    }


def _copy(store: Store, copy: Store, run_ids: Sequence[str], private: Private) -> None:
    for run_id in run_ids:
        run = store.run(run_id)
        copy.add_run(private.record(run))
        for environment in store.environments(run_id):
            copy.add_environment(run_id, private.record(environment))
        for trial in store.trials(run_id, blobs=True):
            copy.record(run_id, without_times(private.record(trial), run.started))
        for warning in store.warnings(run_id):
            copy.warn(run_id, private.text(warning))


def _environment(servers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "keybench": keybench.__version__,
        "python": sys.version,
        "platform": platform.platform(),
        "machine": machine.describe(),
        "packages": _packages(),
        "servers": [one for number, one in enumerate(servers) if one not in servers[:number]],
    }


def _packages() -> dict[str, str]:
    """Versions of what keybench itself can use; other packages of the user are nobody's business."""
    named = {_NAME.split(requirement)[0] for requirement in requires("keybench") or ()} - {"keybench"}
    found = {}
    for name in sorted(named, key=str.lower):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, default=str) + "\n"
