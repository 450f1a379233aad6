"""The findings as plain values for `--json`. docs/data.md describes the fields."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from keybench.advice.inspection import sentences
from keybench.advice.inspection.advised import Advice
from keybench.advice.inspection.findings import Findings, IndexFinding, TableFinding
from keybench.advice.inspection.forecast import Asked, NextIndex
from keybench.advice.inspection.naming import Content, KeyGroup
from keybench.databases.contract.existing import ColumnHere
from keybench.generators.core.clock import iso_text

_FIGURES: Final = ("leaf_pages", "branch_pages", "density")  # fields of `PageStats` that are shown


def record(findings: Findings, advice: Mapping[str, Advice], *, confirmed: bool) -> dict[str, Any]:
    """All findings. `advice`: by full name. `confirmed`: the engine's inspection has run on a live server."""
    return {
        "database": findings.about.engine,
        "server": findings.about.title,
        "confirmed": confirmed,
        "promises": list(findings.about.promises),
        "unknown": list(findings.about.caveats),
        "seconds": round(findings.seconds, 2),
        "not_reached": list(findings.not_reached),
        "tables": [_table(one, advice.get(one.table.full_name)) for one in findings.tables],
    }


def _table(one: TableFinding, advice: Advice | None) -> dict[str, Any]:
    table = one.table
    return {
        "name": table.full_name,
        "kind": table.kind,
        "part_of": table.part_of or None,
        "partitions": one.partition_count or None,
        "rows": table.rows,
        "rows_from": table.rows_from,
        "bytes": table.bytes,
        "row_bytes": table.row_bytes,
        "inserted": table.inserted,
        "since": table.since or None,
        "finding": sentences.headline(one),
        "refused": table.refused or None,
        "gain_bytes": round(one.gain),
        "splits_a_day": one.splits_a_day,
        "urgent": list(sentences.urgent(one)),
        "advice": advice.text if advice else None,
        "advise": (advice.command if advice else "") or None,
        "indexes": [_index(each) for each in one.indexes],
    }


def _index(one: IndexFinding) -> dict[str, Any]:
    content, pages = one.content, one.pages
    switches = [switch for each in one.contents if each for switch in each.switches]
    return {
        "name": one.index.name or None,
        "columns": list(one.index.columns),
        "roles": list(one.index.roles),
        "type": one.index.key[0].sql_type,
        "clustered": one.index.is_table,
        "problem": one.problem or None,
        "note": one.index.note or None,
        "sampled": content.sampled if content else 0,
        "layouts": [_group(each) for each in content.groups] if content else [],
        "of_no_layout": content.unknown if content else None,
        "key": [_column(column, each) for column, each in zip(one.index.key, one.contents, strict=False)],
        "switches": [
            {"before": each.before, "after": each.after, "time": _day(each.tick), "clean": each.clean}
            for each in switches
        ],
        "new_rows": one.new_rows.where,
        "ascending": one.new_rows.ascending,
        "ascending_from": one.new_rows.ascending_from,
        "highest": one.highest,
        "index_bytes": pages.bytes,
        "leaf_pages": pages.leaf_pages,
        "density": pages.density,
        "density_error": pages.error,
        "density_origin": pages.origin or None,
        "density_in_order": pages.full,
        "backward_leaves": pages.backward,
        "missing": pages.missing or None,
        "gain_bytes": round(one.gain),
        "pages_read": one.pages_read,
    }


def record_of_next(asked: Asked, rows: int, next_indexes: Sequence[NextIndex]) -> dict[str, Any]:
    """What the next rows do to an index."""
    return {
        "table": asked.table.table.full_name,
        "index": asked.finding.index.name,
        "rows": rows,
        "rows_a_day": asked.a_day,
        "outcomes": [
            {"layout": one.layout, "rebuilt": one.rebuilt, "splits": one.splits, "appends": one.appends}
            | {f"{name}_before": getattr(one.before, name) for name in _FIGURES}
            | {name: getattr(one.after, name) for name in _FIGURES}
            for one in next_indexes
        ],
    }


def _column(column: ColumnHere, content: Content | None) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.sql_type,
        "layouts": [_group(each) for each in content.groups] if content else [],
        "of_no_layout": content.unknown if content else None,
        "repeats": content.repeats if content else None,
    }


def _group(one: KeyGroup) -> dict[str, Any]:
    return {
        "layouts": list(one.layouts),
        "share": one.share,
        "odds": one.odds,
        "keys": one.keys,
        "byte_order": one.order,
        "spelled": one.spelled or None,
        "first": _day(one.first),
        "last": _day(one.last),
        "dated_ahead": one.ahead,
    }


def _day(tick: int | None) -> str | None:
    """The day of an instant: a key that is shown to others should not tell more of its row."""
    return None if tick is None else iso_text(tick).partition("T")[0]
