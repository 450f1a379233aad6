"""Runs all comparisons and prints each with its target, met or not. A missed target is not a failure."""

import argparse
import sys
from collections.abc import Callable, Iterator

from benchmarks import (
    advice,
    advice_forecast,
    costs,
    innodb,
    layouts,
    one_row,
    pagemodel,
    past,
    postgresql,
    report,
    sqlite,
    writers,
)
from keybench.errors import KeybenchError
from keybench.runners.measuring.machine import describe

PARTS: dict[str, Callable[[int, int], Iterator[str]]] = {
    "sqlite": sqlite.compare,
    "postgresql": postgresql.compare,
    "mariadb": innodb.compare_mariadb,
    "mysql": innodb.compare_mysql,
    "layouts": layouts.compare,
    "pagemodel": pagemodel.compare,
    "past": past.compare,
    "costs": costs.compare,
    "writers": writers.compare,
    "one-row": one_row.compare,
    "report": report.compare,
    "advice_forecast": advice_forecast.compare,
    "advice": advice.compare,
}


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def main() -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=_positive, default=300_000, help="rows of each load (300000)")
    parser.add_argument("--repetitions", type=_positive, default=5, help="repetitions, interleaved (5)")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be given again")
    given = parser.parse_args()
    machine = describe()
    print(f"machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, ", end="")
    print(f"{machine['system']}, Python {machine['python']}, load {machine['load_1min']} at the start")
    if machine["load_1min"] > 0.5:
        print("note: the machine is busy with something else: trust ratios more than times")
    try:
        for name in given.only or PARTS:
            for line in PARTS[name](given.rows, given.repetitions):
                print(line, flush=True)
    except KeybenchError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    print(f"load {describe()['load_1min']} at the end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
