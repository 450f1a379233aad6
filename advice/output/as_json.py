"""An answer as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.ranking import Judged


def content(of: Answer) -> dict[str, Any]:
    """Stable fields; figures have value, low, high and kind."""
    needs = of.needs
    told = (*of.ranking.meeting, *of.ranking.missing)
    return {
        "database": needs.on.name,
        "version": needs.version,
        "rows": needs.rows,
        "rows_per_second": needs.rows_per_second,
        "conditions": list(needs.conditions),
        "recommended": of.best.name,
        "column": of.best.column.name,
        "answer": sentences.headline(of),
        "why": sentences.reason(of),
        "also": sentences.rest(of),
        "rests_on": sentences.basis_in_brief(of),
        "runner_up": of.ranking.runner_up.candidate.name if of.ranking.runner_up else None,
        "runner_up_when": sentences.runner_up(of),
        "avoid": [{"layout": one.candidate.name, "why": why} for one, why in _avoided(of)],
        "layouts": [_layout(one) | {"measured": _measured(of, one)} for one in told],
        "options": [asdict(one) for one in of.options],
        "statements": [asdict(one) for one in of.statements],
        "calls": [one.model_dump() for one in of.calls],
        "basis": sentences.basis(of),
        "command": of.command,
    }


def _avoided(of: Answer) -> list[tuple[Judged, str]]:
    return list(zip(of.ranking.avoid, sentences.to_avoid(of), strict=True))


def _layout(one: Judged) -> dict[str, Any]:
    facts, of = one.candidate.properties, one.forecast
    figures = {
        "moved_bytes_per_row": one.moved,
        "index_bytes": of.index_bytes,
        "leaf_pages": of.leaf_pages,
        "density": of.density,
        "splits_per_1000_rows": of.splits,
        "log_bytes_per_row": of.log_bytes,
        "reads_per_row": of.reads,
        "knee_rows": of.cost.knee,
        "lag_rows_p95": of.lag,
    }
    return {
        "layout": one.candidate.name,
        "column": one.candidate.column.name,
        "meets": one.meets,
        "misses": list(one.candidate.misses),
        **{name: _figure(figure) for name, figure in figures.items()},
        "by_size": [asdict(point) for point in of.cost.by_size],
        "inserts_go_to": facts.contention,
        "tells": list(facts.tells),
        "random_bits": facts.random_bits,
        "sortable": facts.sortable,
        "made_by_server": facts.server.declaration if facts.server else facts.default or None,
        "made_by_clients": facts.by_clients,
    }


def _figure(of: Figure | None) -> dict[str, Any] | None:
    return None if of is None else asdict(of)


def _measured(of: Answer, one: Judged) -> dict[str, Any] | None:
    found = of.measured.get((one.candidate.name, one.candidate.column.name))
    return None if found is None else asdict(found)
