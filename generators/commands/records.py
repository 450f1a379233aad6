"""What `list`, `show` and `decode` say, as plain values for `--json`. docs/data.md describes the fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keybench.generators.commands.ascent import ascents
from keybench.generators.commands.readings import Reading
from keybench.generators.core.instants import iso_text
from keybench.generators.core.layout import Layout


def layout_record(layout: Layout) -> dict[str, Any]:
    """A layout as the list has it."""
    return {
        "name": layout.name,
        "aliases": list(layout.aliases),
        "summary": layout.summary,
        "source": layout.source,
        "kind": layout.kind,
        "width": layout.description.width,
        "order": layout.order,
        "ascends": {
            order: {"within": ascends.within, "across": ascends.across} for order, ascends in ascents(layout).items()
        },
    }


def details(layout: Layout) -> dict[str, Any]:
    """What `show` adds."""
    description, time = layout.description, layout.description.time
    return {
        "parts": [
            {"letter": part.letter, "start": part.start, "width": part.width, "value": part.value}
            for part in description.parts
        ],
        "meanings": dict(description.meanings),
        "within": description.within,
        "across": description.across,
        "reads_clock": layout.reads_clock,
        "random_width": description.random_width,
        "uniqueness": description.uniqueness,
        "worker_ids": description.worker_ids,
        "time": {
            "unit": time.unit,
            "first": iso_text(time.first),
            "last": iso_text(time.last),
            "outside": time.outside,
            "resolution_ticks": time.resolution,
            "period_ticks": time.period,
        }
        if time
        else None,
        "caveats": list(description.caveats),
    }


def readings_record(key: str, found: Sequence[Reading], *, everything: bool) -> dict[str, Any]:
    """The readings of one key; without `everything`, the likely and possible ones."""
    return {
        "key": key,
        "readings": [
            {
                "layout": one.layout.name,
                "verdict": one.verdict,
                "reason": one.reason,
                "chance": one.chance,
                "time": iso_text(one.ticks) if one.ticks is not None else None,
                "fields": dict(one.fields),
            }
            for one in found
            if everything or one.verdict in {"likely", "possible"}
        ],
    }
