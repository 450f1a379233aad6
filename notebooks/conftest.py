"""The notebooks as tests: each is run from its first cell to its last, with few rows."""

import os

import pytest

FEW = {"KEYBENCH_ROWS": "3000", "KEYBENCH_BLOCKS": "1"}
QUICK = "04-"
"""The name of the notebook that `make test` runs begins so; `make test-all` runs all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the others as long."""
    for item in items:
        if item.path.suffix == ".ipynb" and not item.path.name.startswith(QUICK):
            item.add_marker(pytest.mark.long)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Few rows, once: the notebooks take as many as this says."""
    os.environ.update(FEW)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Other tests have their own."""
    for name in FEW:
        os.environ.pop(name, None)
