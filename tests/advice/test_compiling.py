"""The first answer on a machine compiles the page models, and says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keybench.advice.command import COMPILING


@pytest.mark.long
def test_compiling_is_told_beside_the_answer_and_only_once(tmp_path: Path) -> None:
    def asked() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "keybench", "advise", "--db", "sqlite", "--rows", "1000", "--json"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True,
        )  # fmt: skip

    first, second = asked(), asked()
    assert first.stderr == f"{COMPILING}\n"
    assert second.stderr == ""
    assert json.loads(first.stdout) == json.loads(second.stdout)
