"""One key at a time: no duplicates, whatever threads, processes and the clock do."""

import os
import subprocess
import sys
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators import new, timestamp
from keybench.generators.core.clock import DATETIME_LAST, TICKS_PER_MS, TICKS_PER_SECOND, VirtualClock, ticks_of
from keybench.generators.core.description import Uniqueness
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layouts
from keybench.generators.core.process import Process
from keybench.generators.core.single import MonotonicClock, source
from keybench.model.keys import Keys
from tests.errors import raised

ALL = {known.name: known for known in layouts().values()}
TYPES = {"uuid": uuid.UUID, "int": int, "text": str, "bytes": bytes}
START = 637_811_545_420_000_000


def those(*kinds: Uniqueness) -> list[str]:
    assert set(kinds) <= set(get_args(Uniqueness))
    return sorted(name for name, known in ALL.items() if known.description.uniqueness in kinds)


NEED_NO_NUMBER = those("random", "process")
NEED_A_NUMBER = those("machine", "worker id")

CROWD = """
import os, sys, threading
from keybench.generators import new, timestamp
from keybench.generators.core.layout import layout

PROCESSES, THREADS = 8, 8
jobs = [(name, count == "n", int(each)) for name, count, each in (job.split(":") for job in sys.argv[1:])]

def key(name, number, process):
    made = new(name, worker=process) if number else new(name)
    return getattr(made, "hex", lambda: format(made, "016x"))() if isinstance(made, (int, bytes)) else str(made)

def write(process, fd):
    lines, ready = [], threading.Barrier(THREADS)
    def work():
        mine = []
        for name, number, each in jobs:
            ready.wait()
            mine += [name + " " + key(name, number, process) for _ in range(each)]
        lines.extend(mine)
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    with os.fdopen(fd, "w") as out:
        out.write("\\n".join(lines) + "\\n")

# The parent makes keys before it forks, so that its children inherit sources that they must not use.
for name, number, _ in jobs:
    key(name, number, 0)
children = []
for process in range(1, PROCESSES):
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.close(reads)
        write(process, writes)
        os._exit(0)
    os.close(writes)
    children.append(reads)
write(0, os.dup(1))
for reads in children:
    with os.fdopen(reads) as lines:
        sys.stdout.write(lines.read())
for _ in children:
    assert os.wait()[1] == 0
"""


def crowd(each: dict[str, int]) -> dict[str, list[str]]:
    """Keys of each layout from 8 threads in each of 8 processes, 7 of them forked from the first."""
    jobs = [f"{name}:{'n' if name in NEED_A_NUMBER else '-'}:{count}" for name, count in each.items()]
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", CROWD, *jobs],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    made: dict[str, list[str]] = {name: [] for name in each}
    for line in done.stdout.splitlines():
        name, _, key = line.partition(" ")
        made[name].append(key)
    return made


def test_8_threads_in_each_of_8_processes_make_no_key_twice() -> None:
    """A thousand keys each of uuid-v7, at full speed."""
    each = {name: 1_000 if name == "uuid-v7" else 10 for name in NEED_NO_NUMBER + NEED_A_NUMBER}
    for name, keys in crowd(each).items():
        assert len(keys) == 8 * 8 * each[name], name
        assert len(set(keys)) == len(keys), name


@pytest.mark.parametrize("name", NEED_NO_NUMBER)
def test_keys_are_python_objects_of_the_layouts_kind(name) -> None:
    made = new(name)
    assert type(made) is TYPES[ALL[name].kind]
    if isinstance(made, uuid.UUID):
        assert made == uuid.UUID(str(made))
        assert made.is_safe is uuid.SafeUUID.unknown


@pytest.mark.parametrize("name", NEED_A_NUMBER)
def test_a_number_is_required_where_nothing_else_makes_keys_unique(name) -> None:
    assert raised(UsageError, new, name) == (
        f"{name} keys of two processes on one machine can be equal: give each process a number of its own, as in "
        f"new('{name}', worker=0)."
    )


@pytest.mark.parametrize("name", those("worker id"))
def test_a_number_must_fit(name) -> None:
    most = ALL[name].description.worker_ids
    assert new(name, worker=most - 1) != new(name, worker=0)
    for worker in (-1, most):
        said = raised(UsageError, new, name, worker=worker)
        assert said == f"worker {worker} does not fit {name} keys: choose one from 0 to {most - 1}."


@pytest.mark.parametrize("name", those("plan"))
def test_planned_keys_are_refused(name) -> None:
    assert raised(UsageError, new, name) == (
        f"{name} keys are made of row numbers or names from a plan, and a single key has none: let the "
        "database number the rows, or use a layout that needs no plan, such as uuid-v7."
    )


def test_a_forked_child_may_not_use_its_parents_number() -> None:
    code = f"""
import os, sys
from keybench.errors import UsageError
from keybench.generators import new, timestamp
name = {NEED_A_NUMBER[0]!r}
new(name, worker=3)
if os.fork() == 0:
    try:
        new(name, worker=3)
    except UsageError as error:
        print(error, flush=True)
    new(name, worker=4)
    os._exit(0)
assert os.wait()[1] == 0
new(name, worker=3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == (
        f"worker 3 of {NEED_A_NUMBER[0]} is the number of the process that forked this one: give this one another.\n"
    )


INSTANTS = st.integers(-(10**9), 10**9) | st.integers(-START, DATETIME_LAST - START) | st.sampled_from([-5, 0, 5])


@given(readings=st.lists(INSTANTS, min_size=1, max_size=50), cut=st.integers(0, 50))
def test_a_monotonic_clock_never_goes_back_and_never_ahead(readings, cut) -> None:
    ticks = START + np.array(readings)
    clock = MonotonicClock(VirtualClock(ticks))
    cut = min(cut, len(ticks))
    shown = [*clock.read(cut), *clock.read(len(ticks) - cut)]
    assert shown == [max(ticks[: i + 1]) for i in range(len(ticks))]
    assert clock.now() == max(ticks)


@pytest.mark.parametrize("name", sorted(set(NEED_NO_NUMBER + NEED_A_NUMBER)))
def test_a_clock_that_steps_back_repeats_no_key(name) -> None:
    """The same seconds twice, and the same reading many times."""
    second = START + np.arange(100) * TICKS_PER_MS
    ticks = np.concatenate([second, second - TICKS_PER_SECOND, second, np.full(100, START)])
    make = source(ALL[name], Process("testhost", 74_565), VirtualClock(ticks), AesEntropy.seeded(name))
    keys = [make() for _ in range(len(ticks))]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("year", [1600, 1677, 2262, 2300, 9999])
def test_a_source_makes_keys_of_any_year(year) -> None:
    ticks = ticks_of(datetime(year, 5, 1, 12, tzinfo=UTC))
    known = ALL["masstransit-newid"]
    make = source(known, Process("testhost", 74_565), VirtualClock(np.full(3, ticks)), AesEntropy.seeded(1))
    keys = np.frombuffer(b"".join(make().bytes for _ in range(3)), np.uint8).reshape(3, 16)
    assert known.decode(Keys(keys, "uuid")).ticks.tolist() == [ticks] * 3


def test_sources_start_from_the_operating_systems_entropy() -> None:
    code = "from keybench.generators import new; print(*[new(n) for n in ('uuid-v4', 'uuid-v7', 'morris', 'hotguid')])"
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/", env=env)
        for _ in range(2)
    ]
    first, second = (run.stdout.split() for run in runs)
    assert all(one != other for one, other in zip(first, second, strict=True))
    assert first[0][:8] != second[0][:8]
    assert first[2][:18] != second[2][:18]


@pytest.mark.parametrize(
    ("name", "options", "near"),
    [("rt-comb-sql", {}, 1), ("rt-comb-legacy", {}, 4), ("uuid-v7", {}, 1), ("jhtodd-string", {}, 1),
     ("uuid-v1", {}, 1), ("ulid", {}, 1), ("ksuid", {}, 1000), ("snowflake", {"worker": 1}, 1)],
)  # fmt: skip
def test_the_time_of_a_new_key_is_now(name: str, options: dict[str, int], near: int) -> None:
    slack = timedelta(milliseconds=near)
    for pause in (0, 0.02):  # also after a pause, although random bits were drawn ahead
        time.sleep(pause)
        before = datetime.now(UTC)
        found = timestamp(new(name, **options), name)
        assert before - slack <= found <= datetime.now(UTC) + slack
        assert found.tzinfo is UTC


def test_the_time_of_a_guid_as_text() -> None:
    """Published with RT.Comb's SQL functions."""
    comb, legacy = "D01C25CC-63A7-47CC-B5BA-018E5F3BFF48", "E25AFE33-DB2D-4502-9BF0-919001862CC4"
    assert timestamp(comb, "rt-comb-sql") == datetime(2024, 3, 21, 4, 19, 11, 304_000, tzinfo=UTC)
    assert timestamp(uuid.UUID(legacy), "rt-comb-legacy") == datetime(2002, 1, 10, 23, 40, 35, tzinfo=UTC)
    said = raised(UsageError, timestamp, "nothing", "rt-comb-sql")
    assert said == "'nothing' is no GUID: a GUID has 32 hexadecimal digits."


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("uuid-v4", uuid.UUID(int=1 << 127), "uuid-v4 keys hold no time: name the layout that made the key."),
        ("bigint-identity", 5, "bigint-identity keys hold no time: name the layout that made the key."),
        ("snowflake", 1 << 64,
         "18446744073709551616 has more than 64 bits, so it is no key of any layout: give the key as it was made."),
        ("uuid-v7", 7, "these are int keys, and GUIDs were expected: name the layout that made them."),
        ("cuid2", "é" * 24, "cuid2 keys hold no time: name the layout that made the key."),
    ],
)  # fmt: skip
def test_a_key_without_a_time_is_refused(name: str, key: uuid.UUID | int | str, message: str) -> None:
    assert raised(UsageError, timestamp, key, name) == message


def test_few_keys_need_no_numba_and_other_modules_no_single_keys() -> None:
    code = """
import sys, keybench.generators.core.clock
assert "keybench.generators.core.single" not in sys.modules
from keybench.generators import new
from keybench.generators.commands.app import main
new("uuid-v7")
for arguments in (["list"], ["list", "rt-comb-sql"], ["make", "rt-comb-legacy", "-n", "3"]):
    sys.argv = ["generators", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
assert not {"numba", "keybench.compiled"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd="/")
