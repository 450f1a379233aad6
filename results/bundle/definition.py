"""Whether the definition and machine of a bundled run have the types that readers rely on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from keybench.model.column import Pairing


def fits(definition: Mapping[str, Any], machine: Mapping[str, Any]) -> bool:
    """Whether titles, pairings, columns, the scenario and the machine's facts are of the right types."""
    scenario = definition.get("scenario", {})
    return (
        isinstance(scenario, dict)
        and _is_map_of_texts(definition.get("titles", {}))
        and _are_pairings(definition.get("pairings", {}))
        and _are_columns(definition.get("columns"))
        and _are_columns(scenario.get("columns"))
        and isinstance(scenario.get("title", ""), str)
        and isinstance(scenario.get("load", {}), dict)
        and all(isinstance(value, str | int | float | None) for value in machine.values())
    )


def _is_map_of_texts(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(value, str) for value in found.values())


def _are_pairings(found: object) -> bool:
    if not isinstance(found, dict) or not all(isinstance(own, dict) for own in found.values()):
        return False
    return all(_is_pairing(one) for own in found.values() for one in own.values())


def _is_pairing(found: object) -> bool:
    return (
        isinstance(found, dict)
        and set(found) == {field.name for field in fields(Pairing)}
        and isinstance(found["default"], str)
        and isinstance(found["suited"], str)
        and isinstance(found["ordered"], bool)
        and _is_list_of_texts(found["suiting"])
    )


def _are_columns(found: object) -> bool:
    if isinstance(found, dict):
        return all(_is_list_of_texts(own) for own in found.values())
    return found is None or _is_list_of_texts(found)


def _is_list_of_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(value, str) for value in found)
