"""What all tests share."""

import gc
import json
import os
import signal
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from keybench.databases.contract_suite.places import Place
from keybench.databases.contract_suite.servers import folder_for_servers
from keybench.databases.registry import engines
from keybench.model.keys import Keys

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start inherits that; tests that
# interrupt a program could not be run so.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests assert no times: on a busy machine a property may be slow, and so may be the making of its examples.
settings.register_profile("keybench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("keybench")

_ORDER = {"runners": 0, "notebooks": 0, "contract": 0, "generators": 2}

if "PYTEST_XDIST_WORKER" not in os.environ:  # those have it from the process that started them
    os.environ["TMPDIR"] = str(folder_for_servers())
    tempfile.tempdir = None
    # Three processes of tests share the cores; threads of numpy's matrix products would wait for one another, spinning.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """A command run in this process takes signals over until it has ended, as if the process ended with it. A fixture
    of a module or a session may run one: a fixture of each test would be too late."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        return (yield)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def pytest_report_header() -> list[str]:
    """Names once the servers that cannot be started here. Tests that need them are left out or skipped."""
    local = [on for on in engines().values() if "local" in on.servers]
    return [f"without {on.title}: {reason}" for on in local if (reason := on.missing("local"))]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folders whose files take longest come first, and last the one whose files take a second or two: so no process
    is left alone with a long file at the end. `make test` runs a test marked `once` with its first parameters only, and
    one that takes an engine's kinds of server on the first kind that can be started here."""
    items.sort(key=lambda item: _ORDER.get(item.path.parent.name, 1))
    kinds: dict[str, str] = {}
    first_parameters: dict[str, str] = {}
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        place = given.get("place", given.get("private"))
        repeated = isinstance(place, Place) and kinds.setdefault(place.engine.name, place.server) != place.server
        if item.get_closest_marker("once"):
            repeated = first_parameters.setdefault(item.nodeid.partition("[")[0], item.nodeid) != item.nodeid
        if repeated:
            item.add_marker(pytest.mark.long)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests and what they imported stay to the end: no collection of garbage need look at them. Others are
    seldom: with Python's own threshold of 700 objects they take 4 % of the time."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


Vector = dict[str, Any]
Vectors = Callable[[str], list[Vector]]


@pytest.fixture(scope="session")
def vectors() -> Vectors:
    """The golden vectors of one layout; an error if there are none."""

    files = sorted((Path(__file__).parent / "generators").glob("golden*.json"))
    golden = [vector for file in files for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]]

    def named(name: str) -> list[Vector]:
        chosen = [vector for vector in golden if vector["layout"] == name]
        assert chosen, f"no golden vector of {name}"
        return chosen

    return named


@pytest.fixture(scope="session")
def guids_of() -> Callable[[Sequence[str]], Keys]:
    """Keys of GUIDs given as text."""

    def keys(texts: Sequence[str]) -> Keys:
        data = b"".join(uuid.UUID(text).bytes for text in texts)
        return Keys(np.frombuffer(data, np.uint8).reshape(-1, 16).copy(), "uuid")

    return keys


@pytest.fixture(scope="session")
def texts_of() -> Callable[[Keys], list[str]]:
    """GUIDs as text."""

    def texts(keys: Keys) -> list[str]:
        return [str(uuid.UUID(bytes=row.tobytes())) for row in keys.data]

    return texts
