"""What a page is made of: a run with its trials, from a results database or as it was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keybench.results.report.download import Download
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial


@dataclass(frozen=True)
class Source:
    """A run with all that its page shows."""

    run: Run
    trials: Sequence[Trial]
    environments: Sequence[Environment]
    warnings: Sequence[str]
    ratios: Sequence[Trial] | None = None
    """The trials whose times give ratios, where `trials` have no times because a licence forbids to publish them."""
    download: Download | None = None
    """Where the values are; None puts them into the page."""


def stored(store: Store, name: str) -> Source:
    """The run with this id, prefix of it, or `latest`; UsageError if there is none."""
    run = store.run(name)
    return Source(run, store.trials(run.id, blobs=True), store.environments(run.id), store.warnings(run.id))
