"""Servers on which the advised statements are run, and packages of which the advised code is."""

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from keybench.databases.contract_suite.servers import servers  # noqa: F401 (a fixture)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Installs packages by `npm` or `pip` and gives their folder. Skips the test, with the reason, if that fails."""

    @cache
    def install(by: str, *packages: str) -> Path:
        folder = tmp_path_factory.mktemp(by)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        try:
            command = [*(npm if by == "npm" else pip), *packages]
            subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        except FileNotFoundError:
            pytest.skip(f"there is no {by} here")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"{by} brings no packages: {error.stderr.strip()[-200:]}")
        return folder

    return install
