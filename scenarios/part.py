"""What all parts of a scenario file have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Part(BaseModel):
    """One table of the file: unknown fields are errors, values are taken as they are, lists are tuples."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _tuples(cls, values: Any) -> Any:
        return {name: tupled(value) for name, value in values.items()} if isinstance(values, dict) else values


def tupled(value: Any) -> Any:
    """The value with tuples for its lists, at any depth."""
    return tuple(map(tupled, value)) if isinstance(value, list) else value
