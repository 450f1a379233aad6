"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
import tempfile

import pytest

from keybench.testing.contract.servers import folder_for_servers

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start inherits that; tests that
# interrupt a program could not be run so.
signal.signal(signal.SIGINT, signal.default_int_handler)

_ORDER = {"runners": 0, "notebooks": 0, "contract": 0, "generators": 2}

if "PYTEST_XDIST_WORKER" not in os.environ:  # those have it from the process that started them
    os.environ["TMPDIR"] = str(folder_for_servers())
    tempfile.tempdir = None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folders whose files take longest come first, and last the one whose files take a second or two: so no process
    is left alone with a long file at the end."""
    items.sort(key=lambda item: _ORDER.get(item.path.parent.name, 1))


def pytest_collection_finish() -> None:
    """Thousands of tests and what they imported stay to the end: no collection of garbage need look at them again."""
    gc.collect()
    gc.freeze()
