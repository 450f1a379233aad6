"""The payloads that a command line asks for: `100`, `0-200`, `0-200:zipfian`, or several of these with commas."""

from __future__ import annotations

from pydantic import ValidationError

from keybench.errors import UsageError
from keybench.scenarios.parts import TablePart
from keybench.scenarios.schema import Scenario


def with_payload(scenario: Scenario, text: str) -> Scenario:
    """The scenario with these payloads, and a name that says so; UsageError if the text does not describe any."""
    try:
        payload = tuple(_one(part.strip()) for part in text.split(","))
        table = TablePart(**{**scenario.table.model_dump(), "payload": payload})
    except (ValueError, ValidationError):
        raise UsageError(
            f"--payload {text}: write a number of characters up to 1,000,000, or a range with a distribution (uniform, "
            "zipfian or row-number), as in 100, 0-200 or 0-200:zipfian; several are separated by commas."
        ) from None
    return scenario.model_copy(update={"table": table, "name": f"{scenario.name}, payload {text}"})


def _one(text: str) -> int | dict[str, object]:
    lengths, _, distribution = text.partition(":")
    least, dash, most = lengths.partition("-")
    if not dash and not distribution:
        return int(least)
    return {"min": int(least), "max": int(most)} | ({"distribution": distribution} if ":" in text else {})
