"""Parameters of tests that `make test` takes in part."""

from collections.abc import Sequence
from typing import Any

import pytest


def first(count: int, values: Sequence[object]) -> list[Any]:
    """All values as parameters of a test; a tuple is several. `make test` takes the first `count` of them."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=[pytest.mark.long] if at >= count else []
        )
        for at, value in enumerate(values)
    ]
