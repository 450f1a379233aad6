"""An answer as JSON."""

from dataclasses import asdict
from typing import Any

from keybench.advice import sentences
from keybench.advice.answer import Answer
from keybench.advice.ranking import Choice
from keybench.advice.screen import screen


def content(answer: Answer) -> dict[str, Any]:
    """The answer as fields that stay the same over versions; figures have value, low, high and kind."""
    needs, seen = answer.needs, screen(answer)
    return {
        "database": needs.on.name,
        "version": needs.version,
        "rows": needs.rows,
        "rows_per_second": needs.rows_per_second,
        "conditions": list(needs.conditions),
        "recommended": answer.best.name,
        "column": answer.best.column.name,
        "answer": seen.do,
        "why": seen.why,
        "table": [dict(zip(("what", "index", "log", "reads", "when"), row, strict=True)) for row in seen.rows],
        "second": seen.second,
        "when_not": seen.when_not,
        "also": sentences.more(answer),
        "rests_on": seen.basis,
        "way": answer.decision.way.option.name if answer.decision else None,
        "saved_share": answer.decision.share if answer.decision else None,
        "saved_bytes": answer.decision.saved if answer.decision else None,
        "runner_up": answer.ranking.runner_up.candidate.name if answer.ranking.runner_up else None,
        "avoid": [{"layout": one.candidate.name, "why": why} for one, why in sentences.avoided(answer)],
        "layouts": [_layout(one) for one in (*answer.ranking.meeting, *answer.ranking.missing)],
        "options": [asdict(one) for one in answer.options],
        "statements": [asdict(one) for one in answer.statements],
        "with_public_id": [asdict(one) for one in answer.with_public_id],
        "calls": [one.model_dump() for one in answer.calls],
        "mapping": asdict(answer.mapping) if answer.mapping else None,
        "command": answer.command,
    }


def _layout(one: Choice) -> dict[str, Any]:
    """One layout's figures and properties; None for a figure that no model knows."""
    facts, forecast = one.candidate.properties, one.forecast
    figures = {
        "moved_bytes_per_row": one.moved,
        "index_bytes": forecast.index_bytes,
        "leaf_pages": forecast.leaf_pages,
        "density": forecast.density,
        "splits_per_1000_rows": forecast.splits,
        "log_bytes_per_row": forecast.log_bytes,
        "reads_per_row": forecast.reads,
        "knee_rows": forecast.cost.knee,
    }
    return {
        "layout": one.candidate.name,
        "column": one.candidate.column.name,
        "meets": one.meets,
        "misses": list(one.candidate.misses),
        **{name: asdict(figure) if figure else None for name, figure in figures.items()},
        "by_size": [asdict(point) for point in forecast.cost.by_size],
        "inserts_go_to": facts.contention,
        "tells": list(facts.tells),
        "random_bits": facts.random_bits,
        "sortable": facts.sortable,
        "made_by_server": facts.server.declaration if facts.server else facts.default or None,
        "made_by_clients": facts.by_clients,
    }
