"""What weakens a run's figures is said with what helps."""

from dataclasses import replace

import pytest

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MACHINE
from keybench.results.analysis.warnings import warnings
from keybench.results.store.records import Environment, Run, Trial
from tests.results.conftest import a_run, trials

FEW = ("bigint-identity", "uuid-v4", "uuid-v7")
LARGE = Environment("postgresql", "embedded", {}, {}, 2**20)
"""A server whose cache is smaller than the index."""


def made(blocks: int = 6, rows: int = 2_000_000, **machine: float) -> list[Trial]:
    """A run's trials with the same readings of the machine around each."""
    around = tuple(Reading(Metric(name), value, "measured", subject=MACHINE) for name, value in machine.items())
    found = trials(FEW, ("postgresql",), blocks, rows, (100,), after=False)
    return [replace(trial, readings=(*trial.readings, *around)) for trial in found]


def said(found: list[Trial], run: Run | None = None, environment: Environment = LARGE) -> list[str]:
    return warnings(run or a_run(blocks=6), found, [environment])


def test_a_quiet_run_of_enough_blocks_needs_no_warning() -> None:
    assert said(made(sentinel_ms=3.0, others_cpu=0.05, disk_wait=1.0, stolen_cpu=0.0)) == []
    assert said(made()) == []  # a run of an older keybench


@pytest.mark.parametrize(
    ("asked", "blocks", "text"),
    [
        (1, 1, "One block is too few to compare times at 5\u00a0%: measure with --blocks 6."),
        (3, 3, "3 blocks are too few to compare times at 5\u00a0%: measure with --blocks 6."),
        (6, 5, "5 blocks are too few to compare times at 5\u00a0%: continue with --resume 5ca1ab1e00."),
    ],
)
def test_too_few_blocks(asked: int, blocks: int, text: str) -> None:
    assert said(made(blocks), a_run(blocks=asked)) == [text]


def drifting(found: list[Trial], over: str, by: float) -> list[Trial]:
    """The sentinel grows evenly by so much over the run or over each block."""
    order = sorted(found, key=lambda trial: (trial.block, trial.position))
    place = {id(trial): i / (len(order) - 1) for i, trial in enumerate(order)}
    most = max(trial.position for trial in found)
    return [
        replace(
            trial,
            readings=(
                *trial.readings,
                Reading(
                    Metric.SENTINEL_MS,
                    3 * (1 + by * (place[id(trial)] if over == "run" else trial.position / most)),
                    "measured",
                    subject=MACHINE,
                ),
            ),
        )
        for trial in found
    ]


def test_drift_over_the_run() -> None:
    assert said(drifting(made(), "run", 0.04)) == []
    assert said(drifting(made(), "run", 0.5)) == [
        "The machine became 39\u00a0% slower over the run, by the time of a fixed loop. Ratios within a block cancel "
        "what affects all its trials equally; more blocks average it out, --blocks 12."
    ]
    (text,) = said(drifting(made(12), "run", -0.3), a_run(blocks=12))
    assert "faster over the run" in text
    assert text.endswith("; let the machine rest before a run.")


def test_drift_over_each_block() -> None:
    many = trials(
        ("bigint-identity", "uuid-v4", "uuid-v7", "ulid"), ("postgresql", "sqlite"), 6, 10**6, (100,), after=False
    )
    (text,) = said(drifting(many, "block", 0.5))
    assert text.startswith("The machine became 41\u00a0% slower over each block, by the time of a fixed loop. ")


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        ({"others_cpu": 0.8}, "Other programs kept 0.8 processors busy when trials began: stop them and run again."),
        ({"disk_wait": 45.0},
         "Something waited for a disk for 45\u00a0% of the time when trials began: stop what writes to it, or set "
         "KEYBENCH_TMP to a folder on another disk."),
        ({"stolen_cpu": 7.0},
         "The hypervisor gave 7\u00a0% of the processors' time to other virtual machines: run again at a quieter "
         "hour, or on a machine of your own."),
    ],
)  # fmt: skip
def test_a_machine_that_others_use(machine: dict[str, float], text: str) -> None:
    assert said(made(**machine)) == [text]
    assert said(made(**machine)[:7], a_run(blocks=2))[1:] == []  # too few looks to say so


def test_an_index_within_the_cache_names_the_options_that_help() -> None:
    small = replace(LARGE, cache_bytes=2**30)
    (text,) = said(made(), environment=small)
    assert text == (
        "postgresql: the largest index (78 MiB) fits into the cache (1,024 MiB), so the cost of a larger table does "
        "not show. Measure it with --rows 53000000, or --scenario beyond-cache."
    )
    (text,) = said(made(), replace(a_run(blocks=6), scenario="beyond-cache"), environment=small)
    assert text.endswith(" Measure it with --rows 53000000.")
    (text,) = said([replace(one, layout="file:keys.txt") for one in made()], environment=small)
    assert text.endswith(" Measure it with a file of 53000000 keys.")


def test_models_and_failures_have_no_times_to_warn_of() -> None:
    assert said([replace(trial, status="error", error="gone") for trial in made(1)]) == []
    untimed = [
        replace(t, readings=tuple(r for r in t.readings if r.metric != Metric.INSERT_SECONDS)) for t in made(1)
    ]  # fmt: skip
    assert said(untimed) == []
