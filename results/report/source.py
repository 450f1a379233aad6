"""What a page is made of: a run with its trials, and the link to its values."""

from __future__ import annotations

import gzip
import io
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from keybench.results import tidy
from keybench.results.store.database import Store
from keybench.results.store.records import Environment, Run, Trial

MOST_VALUES: Final = 20_000
"""A run with more values gets no link: exporting them takes as long as drawing the page."""

_MOST_PLAIN: Final = 250_000
"""Characters of a link; a longer table is compressed."""

_MOST_COMPRESSED: Final = 1_000_000
"""Characters of a compressed link; a longer one is left out, because browsers refuse very long links."""


@dataclass(frozen=True)
class Download:
    """A run's values as one file; `href` is empty if there are too many. `command` exports them in any case."""

    name: str
    href: str
    values: int
    command: str

    @property
    def form(self) -> str:
        """What the file is, in words."""
        if self.name.endswith(".zip"):
            return "CSV in a ZIP file"
        return "compressed CSV" if self.name.endswith(".gz") else "CSV"


def download(run: Run, trials: Sequence[Trial]) -> Download:
    """The run's link: a CSV file, compressed if it is long."""
    count = sum(len(trial.readings) or 1 for trial in trials)
    name, command = f"keybench-{run.id}.csv", f"keybench export {run.id} -o {run.id}.csv"
    if not 0 < count <= MOST_VALUES:
        return Download(name, "", count, command)
    buffer = io.StringIO()
    tidy.write_csv(list(tidy.values(run.id, trials, run.load_path)), buffer)
    text = buffer.getvalue()
    plain = "data:text/csv;charset=utf-8," + quote(text) if len(text) <= _MOST_PLAIN else ""
    if plain and len(plain) <= _MOST_PLAIN:
        return Download(name, plain, count, command)
    compressed = b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
    if len(compressed) > _MOST_COMPRESSED:
        return Download(name, "", count, command)
    return Download(f"{name}.gz", f"data:application/gzip;base64,{compressed}", count, command)


@dataclass(frozen=True)
class PageSource:
    """A run with all that its page shows."""

    run: Run
    trials: Sequence[Trial]
    environments: Sequence[Environment]
    warnings: Sequence[str]
    ratios: Sequence[Trial] | None = None
    """The trials whose times give ratios, where `trials` have no times because a licence forbids to publish them."""
    download: Download | None = None
    """Where the values are; None puts them into the page."""


def stored(store: Store, name: str) -> PageSource:
    """The run with this id, prefix of it, or `latest`; UsageError if there is none."""
    run = store.run(name)
    return PageSource(run, store.trials(run.id, blobs=True), store.environments(run.id), store.warnings(run.id))
