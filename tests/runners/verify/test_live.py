"""`keybench verify --quick` on every server that can be started here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from keybench.databases.registry import engines

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
