"""Whether a trial's counts are the same each time it is run with the same seed."""

from __future__ import annotations

from keybench.model.load_path import load_path
from keybench.model.names import COMPUTED, NO_DATABASE
from keybench.results.store.records import Run, Trial


def repeats(run: Run, trial: Trial) -> bool:
    """Whether the same seed gives the same counts. It does not if several writers race on a server."""
    in_order = trial.writers == 1 and load_path(run.load_path).in_order
    return in_order or trial.server in COMPUTED or trial.database == NO_DATABASE
