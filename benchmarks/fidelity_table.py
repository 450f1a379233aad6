"""The table of fidelity: versions of servers and orders of arrival, from the lines that `benchmarks.fidelity` prints.

A load is equal if every figure of the server, and the place of each leaf, is that of the page model. A cell has the
number of equal loads and of all.
"""

import re
from collections import defaultdict

_HEADING = re.compile(r"^(\S.* [\d.]+), (\w+), ([\d,]+) rows$")
_LOAD = re.compile(r"^  (\S+ \S+), payload \d+, ([^:]+): (.*)$")
_UNEQUAL = re.compile(r"\b[A-Z]{3,}")


def heading(title: str, version: str, kind: str, rows: int) -> str:
    """The line above the loads of one server."""
    return f"{title} {version}, {kind}, {rows:,} rows"


def counts(text: str) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """By server and rows, and by order of arrival: (equal loads, loads)."""
    found: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    of_server: dict[str, tuple[int, int]] = {}
    for line in text.splitlines():
        if given := _HEADING.match(line):
            of_server = found.setdefault((given[1], given[3]), defaultdict(lambda: (0, 0)))
        elif given := _LOAD.match(line):
            equal, loads = of_server[given[2]]
            of_server[given[2]] = equal + (not _UNEQUAL.search(given[3])), loads + 1
    return found


def markdown(text: str) -> str:
    """The table, from the output of one run or of several."""
    found = counts(text)
    orders = list(dict.fromkeys(order for loads in found.values() for order in loads))
    rows = [["server", "rows", *orders, "equal"]]
    for (server, size), loads in found.items():
        total = [sum(part) for part in zip(*loads.values(), strict=True)] or [0, 0]
        cells = ["/".join(map(str, loads[order])) if order in loads else "" for order in orders]
        rows.append([server, size, *cells, f"{total[0]} of {total[1]}"])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
