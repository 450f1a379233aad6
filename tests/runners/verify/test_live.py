"""`keybench verify --quick` on every server that can be started here, and after `kill -9`."""

import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from keybench.databases.registry import engines
from keybench.runners.verify.verification import loads_of
from tests.runners.conftest import results

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

SERVERS = [
    (on, kind) for on in engines().values() for kind in on.servers if kind != "container" and not on.missing(kind)
]
COMMAND = (sys.executable, "-m", "keybench", "verify")


@pytest.mark.parametrize(("on", "kind"), SERVERS, ids=lambda part: getattr(part, "name", part))
def test_every_verdict_is_equal(on, kind: str, variables: dict[str, str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = subprocess.run(
        [*COMMAND, on.name, "--server", kind, "--quick"],
        cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-5000:]
    assert f"\n{on.title}: {len(on.questions)} equal, 0 differ, 0 could not be measured\n" in done.stdout
    verdicts = [line for line in done.stdout.splitlines() if line.startswith("equal: ")]
    assert len(verdicts) == len(on.questions)
    assert all(re.search(r" \([1-9]\d* trials?\)$", line) for line in verdicts)


def test_what_a_kill_left_is_gone_on_with(variables: dict[str, str], tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "sqlite", "--quick"], cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True
    ) as begun:
        assert begun.stdout is not None
        for line in begun.stdout:
            if line.startswith("[10/96]"):
                break
        begun.send_signal(signal.SIGKILL)
    assert not list(tmp_path.glob("*.zip"))
    time.sleep(1)
    with results(tmp_path) as store:
        before = {run.id: len(store.trials(run.id)) for run in store.runs()}
    first, second = before.values()
    assert first == 5
    assert second >= 10
    done = subprocess.run(
        [*COMMAND, "--resume", "latest"],
        cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-5000:]
    on = engines()["sqlite"]
    with results(tmp_path) as store:
        runs = store.runs()
        assert [run.id for run in runs][:2] == list(before)
        assert len(runs) == len(loads_of(on))
    (bundle,) = tmp_path.glob("*.zip")
    with zipfile.ZipFile(bundle) as archive:
        assert {f"keybench-{run.id}.zip" for run in runs} <= set(archive.namelist())
