"""Compares each index in a data file with the page model: `python -m benchmarks.mssql_file Northwind.mdf`.

Exit code 0 if some are equal and none differs, 1 if one differs, 2 if the file cannot be read, 3 if nothing could be
compared. Of rows it shows numbers and sizes alone.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.mssql_file.verdicts import verdicts
from keybench.databases.core.probes import UnreadableError
from keybench.runners.verify.verdicts import WORDS


def main() -> int:
    """Prints a line for each index, and how many verdicts of each kind there are; the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.mssql_file")
    parser.add_argument("file", type=Path, help="a data file (.mdf), or a backup (.bak) without compression")
    file, outcomes = parser.parse_args().file, []
    try:
        for text, verdict in verdicts(file):
            outcomes.append(verdict.outcome)
            evidence = f": {verdict.evidence}" if verdict.evidence else ""
            print(f"{WORDS[verdict.outcome]}{evidence}: {text}")
    except (OSError, UnreadableError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        print(f"the file {file} cannot be read: {reason}", file=sys.stderr)
        return 2
    print(", ".join(f"{outcomes.count(outcome)} {words}" for outcome, words in WORDS.items()))
    if "differs" in outcomes:
        print("indexes whose rows were changed or deleted, or that were built from rows, differ as they must")
        return 1
    return 0 if "equal" in outcomes else 3


if __name__ == "__main__":
    sys.exit(main())
