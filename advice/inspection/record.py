"""The findings as plain values for `--json`. docs/data.md describes the fields."""

from typing import Any

from keybench.advice.inspection import sentences
from keybench.advice.inspection.findings import Findings, IndexFinding, TableFinding
from keybench.advice.inspection.naming import KeyGroup
from keybench.generators.core.clock import iso_text


def record(findings: Findings, *, by_document: bool) -> dict[str, Any]:
    """All findings; `by_document`: the engine's inspection was never run on a live server."""
    return {
        "database": findings.about.engine,
        "server": findings.about.title,
        "confirmed": not by_document,
        "promises": list(findings.about.promises),
        "unknown": list(findings.about.caveats),
        "seconds": round(findings.seconds, 2),
        "not_reached": list(findings.not_reached),
        "tables": [_table(findings.about.engine, one) for one in findings.tables],
    }


def _table(engine: str, one: TableFinding) -> dict[str, Any]:
    table = one.table
    return {
        "name": table.full_name,
        "kind": table.kind,
        "part_of": table.part_of or None,
        "partitions": one.parts or None,
        "rows": table.rows,
        "rows_from": table.rows_from,
        "bytes": table.bytes,
        "row_bytes": table.row_bytes,
        "inserted": table.inserted,
        "since": table.since or None,
        "finding": sentences.headline(one),
        "refused": table.refused or None,
        "gain_bytes": round(one.gain),
        "splits_a_day": one.moved_a_day,
        "advise": sentences.advise(engine, one) or None,
        "indexes": [_index(each) for each in one.indexes],
    }


def _index(one: IndexFinding) -> dict[str, Any]:
    content, pages = one.content, one.pages
    return {
        "name": one.index.name or None,
        "columns": list(one.index.columns),
        "roles": list(one.index.roles),
        "type": one.index.sql_type,
        "clustered": one.index.is_table,
        "problem": one.problem or None,
        "note": one.index.note or None,
        "sampled": content.sampled if content else 0,
        "layouts": [_group(each) for each in content.groups] if content else [],
        "of_no_layout": content.unknown if content else None,
        "switches": [
            {"before": each.before, "after": each.after, "time": _day(each.tick), "clean": each.clean}
            for each in (content.switches if content else ())
        ],
        "ascending": content.ascending if content else None,
        "ascending_from": content.ascending_from if content else "",
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
    }


def _day(tick: int | None) -> str | None:
    """The day of an instant: a key that is shown to others should not tell more of its row."""
    return None if tick is None else iso_text(tick).partition("T")[0]
