"""Warnings about what weakens a run's figures. Each is one sentence and names an unused option that helps."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import ceil, floor, log10
from statistics import fmean, median
from typing import Final

from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject
from keybench.results.analysis.p_values import ALPHA, blocks_needed
from keybench.results.store.records import Environment, Run, Trial

TIMED = (Metric.INSERT_SECONDS, Metric.KEY_NS)
BEYOND_CACHE = "beyond-cache"
"""The scenario whose index outgrows the cache."""

_ENOUGH_TRIALS = 8
"""Minimum number of trials with an observation of the machine: each observes it only briefly, so fewer say little."""

_DRIFT = 0.05
"""Relative change of the machine's speed beyond which there is a warning."""

_MACHINE: Final = (
    (Metric.OTHERS_CPU, 0.2,
     "Other programs kept {:.1f} processors busy when trials began: stop them and run again."),
    (Metric.DISK_WAIT, 20.0,
     "Something waited for a disk for {:.0f}\u00a0% of the time when trials began: stop what writes to it, or set "
     "KEYBENCH_TMP to a folder on another disk."),
    (Metric.STOLEN_CPU, 2.0,
     "The hypervisor gave {:.0f}\u00a0% of the processors' time to other virtual machines: run again at a quieter "
     "hour, or on a machine of your own."),
)  # fmt: skip
"""What takes the machine from the run: the metric, its limit, and the warning about its mean."""


def warnings(run: Run, trials: Sequence[Trial], environments: Sequence[Environment]) -> list[str]:
    """A sentence for everything that weakens a run's times; empty if it measured no times (page models)."""
    timed = [trial for trial in trials if trial.status == "ok" and any(_values([trial], metric) for metric in TIMED)]
    if not timed:
        return []
    texts = (_blocks(run, timed), _pace(run, timed), *_machine(timed), *_caches(run, timed, environments))
    return [text for text in texts if text]


def _blocks(run: Run, timed: Sequence[Trial]) -> str:
    """A warning if there are too few blocks to compare times."""
    have, need = len({trial.block for trial in timed}), blocks_needed()
    if have >= need:
        return ""
    few = "One block is" if have == 1 else f"{have} blocks are"
    helps = f"measure with --blocks {need}" if run.blocks < need else f"continue with --resume {run.id}"
    return f"{few} too few to compare times at {ALPHA:.0%}: {helps}.".replace("%", "\u00a0%")


def _pace(run: Run, timed: Sequence[Trial]) -> str:
    """A warning if the machine's speed changed over the run, or over its blocks. Every trial times the same fixed loop
    (the sentinel), which only the machine can make slower."""
    ordered = sorted(timed, key=lambda trial: (trial.block, trial.position))
    over_run = _drift(ordered)
    over_blocks = [
        drift for _, block in groupby(ordered, lambda trial: trial.block) if (drift := _drift(list(block))) is not None
    ]
    drifts = [over_run, median(over_blocks) if over_blocks else None]
    worst = max((drift for drift in drifts if drift is not None), key=abs, default=0.0)
    if abs(worst) <= _DRIFT:
        return ""
    when = "over the run" if worst == over_run else "over each block"
    more = 2 * blocks_needed()
    helps = f"more blocks average it out, --blocks {more}" if run.blocks < more else "let the machine rest before a run"
    return (
        f"The machine became {abs(worst):.0%} {'slower' if worst > 0 else 'faster'} {when}, by the time of a fixed "
        f"loop. Ratios within a block cancel what affects all its trials equally; {helps}."
    ).replace("%", "\u00a0%")


def _drift(trials: Sequence[Trial]) -> float | None:
    """Relative change of the sentinel's time from the first to the last quarter of the trials; None for too few."""
    values = _values(trials, Metric.SENTINEL_MS)
    if len(values) < _ENOUGH_TRIALS:
        return None
    quarter = len(values) // 4
    return median(values[-quarter:]) / median(values[:quarter]) - 1


def _machine(timed: Sequence[Trial]) -> Iterable[str]:
    """A warning for each thing that took more of the machine than its limit when trials began, by the trials' mean."""
    for metric, limit, text in _MACHINE:
        values = _values(timed, metric)
        if len(values) >= _ENOUGH_TRIALS and fmean(values) > limit:
            yield text.format(fmean(values))


def _caches(run: Run, timed: Sequence[Trial], environments: Sequence[Environment]) -> Iterable[str]:
    """A warning for each database whose largest index fits into its cache."""
    for server in environments:
        sizes = [
            (size, trial.rows)
            for trial in timed
            if (trial.database, trial.server) == (server.database, server.server)
            for size in _values([trial], Metric.INDEX_BYTES, KEY)
        ]
        size, rows = max(sizes, default=(0.0, 0))  # of the largest index
        if not sizes or not server.cache_bytes or size >= server.cache_bytes:
            continue
        enough = _rounded(2 * rows * server.cache_bytes / max(size, 1.0))  # of twice the cache; 1: an index of 0 bytes
        helps = f"--rows {enough}" + ("" if run.scenario == BEYOND_CACHE else f", or --scenario {BEYOND_CACHE}")
        if any(trial.layout.startswith("file:") for trial in timed):  # --keys: its lines are the rows
            helps = f"a file of {enough} keys"
        yield (
            f"{server.database}: the largest index ({_mebibytes(size)}) fits into the cache "
            f"({_mebibytes(server.cache_bytes)}), so the cost of a larger table does not show. Measure it with {helps}."
        )


def _values(trials: Iterable[Trial], metric: Metric, subject: Subject | None = None) -> list[float]:
    """The metric's values about one subject, or about any if `subject` is None."""
    readings = (reading for trial in trials for reading in trial.readings if reading.metric == metric)
    return [one.value for one in readings if one.value is not None and subject in (None, one.subject)]


def _rounded(value: float) -> int:
    """The value rounded up to two significant digits."""
    unit: int = 10 ** max(0, floor(log10(value)) - 1)
    return ceil(value / unit) * unit


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size / 2**10:,.0f} KiB"
