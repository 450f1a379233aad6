"""The notebooks as tests: each is run from its first cell to its last, with few rows."""

from __future__ import annotations

import os

import pytest

ROWS = "KEYBENCH_ROWS"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Few rows: the notebooks take as many as this says."""
    os.environ[ROWS] = "3000"


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Other tests have their own."""
    os.environ.pop(ROWS, None)
