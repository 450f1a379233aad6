"""Writes a bundle."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import keybench
from keybench.errors import UsageError
from keybench.results import tidy
from keybench.results.atomic_file import atomic_file
from keybench.results.bundle import contents
from keybench.results.bundle.licences import publishable, publishable_texts, unit
from keybench.results.bundle.private import names_a_place, public_environment, public_run, public_trial
from keybench.results.store.database import Store
from keybench.results.store.records import Run, Trial

_MADE = (2000, 1, 1, 0, 0, 0)
"""The date of every file in the archive, so that the same run always gives the same file."""


def write_bundle(store: Store, name: str, path: Path) -> Path:
    """Writes the run's bundle, atomically, and returns its path.

    Raises UsageError if the run is unknown or has no trial, or the file cannot be written.
    """
    run = store.run(name)
    trials = store.trials(run.id)
    if not trials:
        raise UsageError(f"run {run.id} holds no trials, so there is nothing to send: name another run.")
    shown = public_run(run)
    own = [public_trial(trial) for trial in publishable(run, trials)]
    said = publishable_texts(trials, store.warnings(run.id))
    files = {
        contents.RUN: _json(
            {
                **asdict(shown),
                "started": shown.started.isoformat(),
                "seed": str(shown.seed),
                "environments": [asdict(public_environment(one)) for one in store.environments(run.id)],
                "warnings": [text for text in said if not names_a_place(text)],
            }
        ),
        contents.VALUES: values(shown, own),
        contents.ABOUT: contents.ABOUT_TEXT.format(run=run.id, version=keybench.__version__),
    }
    packed = {name: text.encode("utf-8", "backslashreplace") for name, text in files.items()}
    manifest = {
        "schema": contents.SCHEMA,
        "keybench": keybench.__version__,
        "run": run.id,
        "files": {name: {"sha256": sha256(data).hexdigest(), "bytes": len(data)} for name, data in packed.items()},
    }
    try:
        with atomic_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in {contents.MANIFEST: _json(manifest).encode(), **packed}.items():
                entry = zipfile.ZipInfo(name, _MADE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): give -o another file.") from None
    return path


def values(run: Run, trials: list[Trial]) -> str:
    """The publishable values of these trials as CSV, with the columns `contents.COLUMNS`."""
    rows = []
    for trial in trials:
        own = list(tidy.values(run.id, [trial], run.load_path))
        for row, reading in zip(own, trial.readings, strict=False):
            row["unit"] = unit(trial.database, reading)
        rows += own
    out = io.StringIO()
    tidy.write_csv(rows, out)
    return out.getvalue()


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
