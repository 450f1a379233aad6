"""The runs of a site: from a results database, or bundles that were sent in. All of them pass through a bundle.

So a site holds nothing that a bundle does not hold: nothing private, and no times that a licence forbids to publish.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from keybench.errors import UsageError
from keybench.results.bundle.licences import RESTRICTED, without_times
from keybench.results.bundle.private import names_a_place
from keybench.results.bundle.reading import Bundle, read_bundle
from keybench.results.bundle.writing import write_bundle
from keybench.results.report.source import Download, PageSource
from keybench.results.store.blobs import POSITIONS, Blob
from keybench.results.store.database import Store
from keybench.results.store.records import Trial

SUFFIX = ".zip"


@dataclass(frozen=True)
class Published:
    """A run as a site holds it: its bundle, as a file's content too, and what its pictures need."""

    bundle: Bundle
    content: bytes

    @property
    def run_id(self) -> str:
        """The run's id, which is the name of its folder."""
        return self.bundle.run.id

    @property
    def file(self) -> str:
        """The name of its bundle."""
        return f"keybench-{self.run_id}{SUFFIX}"

    @property
    def source(self) -> PageSource:
        """What the run's page is made of."""
        run, trials = self.bundle.run, self.bundle.trials
        restricted = any(trial.database in RESTRICTED for trial in trials)
        count = sum(len(trial.readings) or 1 for trial in trials)
        return PageSource(
            run,
            without_times(trials),
            self.bundle.environments,
            self.bundle.warnings,
            ratios=trials if restricted else None,
            download=Download(self.file, self.file, count, f"keybench export {run.id} -o {run.id}.csv"),
        )


def published(names: Sequence[str], results: str, *, small: bool) -> list[Published]:
    """The runs of these names, newest first: ids, prefixes and `latest` of the database, or files of bundles.

    With `small`, the data for pictures of pages is left out. Raises UsageError for an unknown run and for a bundle
    that does not fit.
    """
    found: dict[str, Published] = {}
    stored = [name for name in names if not name.endswith(SUFFIX)]
    for name in names:
        if name.endswith(SUFFIX):
            path = Path(name)
            one = Published(read_bundle(path), path.read_bytes())
            found.setdefault(one.run_id, one)
    if stored:
        with Store.open(results, write=False) as store, tempfile.TemporaryDirectory(prefix="keybench-site-") as folder:
            for name in stored:
                one = _from_store(store, name, Path(folder) / f"run{SUFFIX}", small=small)
                found[one.run_id] = one
    if not found:
        raise UsageError("a site needs a run: name one, or a file of `keybench export --bundle`.")
    return sorted(found.values(), key=lambda one: one.bundle.run.started, reverse=True)


def _from_store(store: Store, name: str, path: Path, *, small: bool) -> Published:
    bundle = read_bundle(write_bundle(store, name, path))
    kept = {
        (trial.block, trial.position): tuple(blob for blob in trial.blobs if _is_public(blob, small=small))
        for trial in store.trials(bundle.run.id, blobs=True)
    }
    trials: tuple[Trial, ...] = tuple(
        replace(trial, blobs=kept[trial.block, trial.position]) for trial in bundle.trials
    )
    return Published(replace(bundle, trials=trials), path.read_bytes())


def _is_public(blob: Blob, *, small: bool) -> bool:
    return (not small or blob.kind == POSITIONS) and not names_a_place(json.dumps(dict(blob.about), default=str))
