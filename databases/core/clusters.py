"""What all clusters share whose tables are LSM trees, divided into ranges of keys: the metrics that they cannot have,
and the questions that only a live one answers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import Answer, Question, SeenTrial
from keybench.databases.core.model_questions import (
    BY_DATE,
    CHILDREN,
    EVERY_LAYOUT,
    ONE_WRITER,
    WRITERS_TOGETHER,
    number,
    rows_are_there,
)
from keybench.databases.hosting.docker_daemon import missing as without_containers
from keybench.databases.registry import choices_without_docker
from keybench.model.metric import Metric

_OF_PAGES = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)
_OF_SPLITS = (
    Metric.APPENDS,
    Metric.EDGE_SPLITS,
    Metric.INTERIOR_SPLITS,
    Metric.BRANCH_SPLITS,
    Metric.SPLIT_COUNTER,
)
_OF_CACHE = (Metric.PAGES_READ, Metric.PAGES_WRITTEN)
_OF_LOG = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGES, Metric.LOG_PAGE_IMAGE_BYTES)


def absent(title: str) -> Mapping[Metric, str]:
    """What such a cluster never gives, with the reasons."""
    reasons = {
        _OF_PAGES: f"{title} keeps rows in sorted files of an LSM tree: it has no b-tree pages.",
        _OF_SPLITS: f"{title} has no b-tree pages that split: its ranges do, which is another metric.",
        _OF_CACHE: f"keybench does not read what {title}'s storage engine reads and merges in the background.",
        _OF_LOG: f"each range of {title} has a log of its own on several nodes, with no figure for a table.",
    }
    return {metric: reason for metrics, reason in reasons.items() for metric in metrics}


HASHED = "The key's index lies in the order of a hash of the key, so where a key goes does not follow from its order."


def missing(on: Engine, server: str, url: str) -> str:
    """Why a container of a cluster cannot be started here, apart from its driver; empty if it can."""
    otherwise = (
        f"give the URL of a cluster of yours, --server {url}, or choose a database that needs no Docker "
        f"({choices_without_docker()})."
    )
    if server not in on.servers:
        return f"{on.title} has no server kind {server}: {otherwise}"
    return without_containers(on.title, otherwise)


def caveat(title: str) -> str:
    """The sentence that stands with each run of an adapter that no cluster has confirmed."""
    return (
        f"{title}: this adapter was written from documentation and has not been run on a live cluster yet. What its "
        "protocol shares with another database was run on that one: see docs/clusters.md."
    )


_LOADS = (ONE_WRITER, EVERY_LAYOUT, WRITERS_TOGETHER, BY_DATE, CHILDREN)


def _ranges_are_read(trial: SeenTrial, *, compressed: bool) -> Answer:
    """Whether the table has one range or more, and they hold something; at least the bytes of the rows unless these are
    compressed."""
    values = trial.values()
    found = [values[metric] for metric in (Metric.RANGES, Metric.TABLE_BYTES) if metric in values]
    known = [reading.value for reading in found if reading.value is not None]
    if len(known) < 2:
        reasons = (reading.reason for reading in found if reading.value is None)
        return Answer("not measured", next(reasons, "the cluster does not tell its ranges"))
    ranges, size = known
    rows = trial.rows * (trial.table.column.width or 0) + trial.rows * trial.table.payload
    seen = f"measured {number(ranges)} ranges of {number(size)} bytes, the rows have {number(rows)}"
    return Answer("equal" if ranges >= 1 and size >= (1 if compressed else rows) else "differs", seen)


def questions(*, compressed: bool = False) -> tuple[Question, ...]:
    """What only a live cluster answers. `compressed`: whether the sizes that it tells are those of compressed files."""
    least = "something" if compressed else "at least the bytes of its rows"
    return (
        rows_are_there(*_LOADS),
        Question(
            f"the cluster tells the ranges of a table and their size, and they hold {least}",
            "Number and size of the ranges are all that a cluster tells of a table. A smaller figure would mean that "
            "they are read at the wrong moment, or of the wrong index.",
            (ONE_WRITER,),
            partial(_ranges_are_read, compressed=compressed),
        ),
    )
