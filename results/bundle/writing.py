"""Writes a bundle, whose files are:

manifest.json  the schema's version, keybench's version, and the SHA-256 and size of each other file
run.json       the run, its servers' environments, its warnings
values.csv     every value: the columns of `keybench export`, whose times of some databases are ratios
README.txt     what the file is
"""

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Final

import keybench
from keybench.errors import UsageError
from keybench.results import tidy
from keybench.results.atomic_file import atomic_file
from keybench.results.bundle import private
from keybench.results.store.database import Store
from keybench.results.store.records import Run, Trial
from keybench.results.tidy import TRIAL, VALUE
from keybench.results.wording import csv_text, json_text

# Schema history:
# 1 - the first.
SCHEMA: Final = 1

MANIFEST: Final = "manifest.json"
RUN: Final = "run.json"
VALUES: Final = "values.csv"
ABOUT: Final = "README.txt"
FILES: Final = (RUN, VALUES, ABOUT)
"""What the manifest lists."""

COLUMNS: Final = (*TRIAL, *VALUE)
"""Columns of `VALUES`."""

ABOUT_TEXT: Final = """\
Run {run} of keybench {version}: what was measured and where, to send in.

manifest.json  the SHA-256 of each other file
run.json       the run, its machine, versions and settings of the servers
values.csv     every value of every trial, one a row (docs/data.md)

It has numbers and keybench's own words. Names that you chose are numbered (`writer 3`), other texts are left out:
--with-texts has both. There are no absolute times of SQL Server and Oracle, whose licences restrict publishing them.
Look through it before you send it. Send it as an issue of the repository that you have keybench from.
`keybench site --verify FILE` checks it.
"""

_DATE: Final = (2000, 1, 1, 0, 0, 0)
"""The date of every file in the archive, so that the same run always gives the same file."""


def write_bundle(store: Store, name: str, path: Path, agree: Callable[[Sequence[str]], object] | None = None) -> Path:
    """Writes the run's bundle, atomically, and returns its path. Raises UsageError if the run is unknown or has no
    trial, or the file cannot be written.

    Foreign names are numbered, and foreign texts are left out. With `agree`, both are in the bundle as they are: before
    anything is written, `agree` gets them and raises if they must not be in it.
    """
    run = store.run(name)
    trials = store.trials(run.id)
    if not trials:
        raise UsageError(f"run {run.id} holds no trials, so there is nothing to send: name another run.")
    # `Texts` keeps each text and collects it when it is used.
    names: private.Names = private.Texts() if agree else private.public_names(run, trials)
    public = private.public_run(run, names)
    public_trials = [private.public_trial(trial, names) for trial in private.publishable(run, trials)]
    stored = store.warnings(run.id) if agree else ()
    warnings = [private.stand_in(text, names, private.TEXT) for text in stored]
    files = {
        RUN: json_text(
            {
                **asdict(public),
                "started": public.started.isoformat(),
                "seed": str(public.seed),
                "environments": [asdict(private.public_environment(one, names)) for one in store.environments(run.id)],
                "warnings": warnings,
            }
        ),
        VALUES: _values(public, public_trials),
    }
    content = archive(run.id, {name: text.encode("utf-8", "backslashreplace") for name, text in files.items()})
    if agree:
        agree(sorted(set(names.values())))
    with atomic_file(path) as part:
        part.write_bytes(content)
    return path


def archive(run_id: str, files: Mapping[str, bytes]) -> bytes:
    """The content of a bundle: of these files `RUN` and `VALUES`, with a manifest and `ABOUT` that are made here."""
    about = ABOUT_TEXT.format(run=run_id, version=keybench.__version__).encode()
    files = {RUN: files[RUN], VALUES: files[VALUES], ABOUT: about}
    manifest = {
        "schema": SCHEMA,
        "keybench": keybench.__version__,
        "run": run_id,
        "files": {name: {"sha256": sha256(data).hexdigest(), "bytes": len(data)} for name, data in files.items()},
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in {MANIFEST: json_text(manifest).encode(), **files}.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, data)
    return content.getvalue()


def _values(run: Run, trials: list[Trial]) -> str:
    """The publishable values of these trials as CSV, with the columns `COLUMNS`."""
    rows = []
    for trial in trials:
        of_trial = list(tidy.values(run.id, [trial], run.load_path))
        for row, reading in zip(of_trial, trial.readings, strict=False):  # a failed trial has a row and no reading
            row["unit"] = private.unit(trial.database, reading)
        rows += of_trial
    return csv_text(rows)
