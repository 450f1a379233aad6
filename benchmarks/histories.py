"""Random histories with inserts, deletes, updates, reads, VACUUM and REINDEX, on PostgreSQL and in its page model.

A history ends with the first step that the model refuses. It counts as different if rows of a leaf, the order of pages
or the density are ever not the model's. The last lines count histories and refusals, by reason.

    python -m benchmarks.histories --server local --seeds 50
"""

import argparse
import re
import time
from collections import Counter
from contextlib import closing

import numpy as np

from keybench.databases.contract_suite.bench import Bench
from keybench.databases.contract_suite.keys import increasing, random, taken_by
from keybench.databases.contract_suite.past import Both, both
from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import UsageError

STEPS = ("insert", "insert", "delete", "update", "update in transactions", "find", "scan", "clean", "clean", "rebuild")
MOST_STEPS = 10


def step(it: Both, what: str, draw: np.random.Generator, left: list[np.ndarray]) -> None:
    """Does one step on both. UsageError if the model refuses it."""
    rows = int(draw.integers(1, 1 + max(1, len(it.present) // 3)))
    some = draw.permutation(it.present)[:rows]
    if what == "insert" and left:
        it.insert(left.pop())
    elif what == "delete":
        it.delete(np.sort(it.present)[:rows] if draw.integers(2) else some)
    elif what.startswith("update"):
        each = len(some) if what == "update" else int(draw.choice([1, 100, 1000]))
        it.update(some, each)
    elif what == "find":
        it.find(draw.permutation(it.arriving[: len(it.arriving) - sum(map(len, left))])[: min(rows, 3000)])
    elif what == "scan":
        it.scan(rows)
    elif what == "clean":
        it.clean()
    elif what == "rebuild":
        it.rebuild(int(draw.choice([100, 90, 70])))


def history(bench: Bench, seed: int) -> tuple[list[str], str]:
    """(the steps on which both agree, why the next one is refused or differs; empty if all agree)."""
    draw = np.random.default_rng(seed)
    rows = int(20_000 * 15 ** draw.random())
    column, keys = taken_by(
        ENGINE.column(str(draw.choice(["uuid", "bigint", "char36"]))), (random, increasing)[draw.integers(2)](rows)
    )
    done: list[str] = []
    with both(bench, column, keys, payload=int(draw.choice([0, 100])), status=True) as it:
        left = np.split(it.arriving, np.sort(draw.integers(rows // 3, rows, 3)))[::-1]
        for what in ["insert", *draw.choice(STEPS, MOST_STEPS)]:
            try:
                step(it, str(what), draw, left)
            except UsageError as refused:
                return done, "refused: " + re.sub(r"\d[\d,]*", "n", str(refused)).split(":")[0]
            except AssertionError:
                return done, f"DIFFERS after {what}"
            done.append(str(what))
    return done, ""


def main() -> None:
    """Runs the histories of all seeds on a server that it starts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--server", default="embedded", choices=["embedded", "local"])
    options.add_argument("--seeds", type=int, default=50)
    chosen = options.parse_args()
    provision = ENGINE.provision(chosen.server, ENGINE.settings("fast", "default"))
    address = provision.start()
    ends: Counter[str] = Counter()
    agreed = 0
    try:
        with closing(ENGINE.admin(address)) as admin:
            for seed in range(chosen.seeds):
                begin = time.monotonic()
                done, end = history(Bench(ENGINE, address, admin), seed)
                agreed += len(done)
                ends[end or "equal to the end"] += 1
                print(f"{seed}: {', '.join(done)}; {end} ({time.monotonic() - begin:.0f} s)", flush=True)
    finally:
        provision.stop()
    print(f"{agreed} steps agree")
    for end, count in ends.most_common():
        print(f"{count} of {chosen.seeds}: {end}")


if __name__ == "__main__":
    main()
