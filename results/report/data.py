"""The values behind a page, inside it: a link that holds a run's tidy data as long as they are small."""

from __future__ import annotations

import gzip
import io
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from keybench.results.export import Form, values, write
from keybench.results.store.store import Run, Trial

MOST_VALUES: Final = 20_000
"""A run of more values is not put into its page: an export takes as long as drawing it."""

_MOST_PLAIN: Final = 250_000
"""Characters of a link above which the table is packed."""

_MOST_PACKED: Final = 1_000_000
"""Characters of a link above which the table is left out; browsers refuse very long ones."""


@dataclass(frozen=True)
class Download:
    """A run's values as one table; `href` is empty where they are too many, and `command` writes them in any case."""

    name: str
    href: str
    values: int
    command: str

    @property
    def packed(self) -> bool:
        """Whether the file is a gzip one."""
        return self.name.endswith(".gz")


def download(run: Run, trials: Sequence[Trial]) -> Download:
    """The run's link: plain CSV, packed where that is long."""
    count = sum(len(trial.readings) or 1 for trial in trials)
    name, command = f"keybench-{run.id}.csv", f"keybench export {run.id} -o {run.id}.csv"
    if not 0 < count <= MOST_VALUES:
        return Download(name, "", count, command)
    buffer = io.StringIO()
    write(list(values(run.id, list(trials), run.load_path)), Form.CSV, buffer)
    text = buffer.getvalue()
    plain = "data:text/csv;charset=utf-8," + quote(text) if len(text) <= _MOST_PLAIN else ""
    if plain and len(plain) <= _MOST_PLAIN:
        return Download(name, plain, count, command)
    packed = b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
    if len(packed) > _MOST_PACKED:
        return Download(name, "", count, command)
    return Download(f"{name}.gz", f"data:application/gzip;base64,{packed}", count, command)
