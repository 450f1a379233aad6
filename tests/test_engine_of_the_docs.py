"""The engine that docs/engines.md builds from nothing plugs in, passes the contract suite, and is measured."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keybench.databases.contract_suite.servers import folder_for_servers

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the documents' engine is installed."""
    folder = tmp_path_factory.mktemp("acme")
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(# acme/.*?)^```$", text, re.M | re.S):
        path = folder / code.partition("\n")[0].removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    assert sorted(path.name for path in (folder / "acme").iterdir()) == ["__init__.py", "server.py", "session.py"]
    (entry_point,) = re.findall(r'^\[project\.entry-points\."keybench\.databases"\]\n(.*)$', text, re.M)
    info = folder / "acme_keybench-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-keybench\nVersion: 1.0\n", encoding="utf-8")
    points = "[keybench.databases]\n" + entry_point.replace('"', "") + "\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    return folder


def python(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KEYBENCH_", "PYTEST_"))}
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": path, "KEYBENCH_TMP": str(folder_for_servers()), "NO_COLOR": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_it_passes_the_contract_suite(acme: Path) -> None:
    done = python(
        acme, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "keybench.databases.contract_suite",
        KEYBENCH_CONTRACT="acme",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout
    assert int(passed[1]) >= 30


def test_it_is_measured_and_refuses_tables_that_it_does_not_declare(acme: Path) -> None:
    listed = python(acme, "-m", "keybench", "list", "databases")
    assert "acme" in listed.stdout, listed.stderr
    done = python(
        acme, "-m", "keybench", "run", "--db", "acme", "--layout", "uuid-v7", "--rows", "500", "--blocks", "1"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 trials measured, 0 failed." in done.stdout
    refused = python(acme, "-m", "keybench", "run", "--db", "acme", "--scenario", "fk-index", "--column", "native")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        'keybench: Acme has no tables with key = "fk", which scenario fk-index wants: leave acme out of --db.\n'
    )


@pytest.mark.long
def test_it_is_verified_by_the_questions_that_it_declares(acme: Path) -> None:
    done = python(acme, "-m", "keybench", "verify", "acme", "--results", "verified.sqlite")
    assert (done.returncode, done.stderr) == (3, ""), done.stdout + done.stderr
    assert "\nequal: each table holds exactly the rows that the server acknowledged (3 trials)\n" in done.stdout
    assert (
        "\ncould not be measured: the log grows by at least the bytes of the rows: bigint-identity in integer: "
        "Acme does not say how much it logs.; 3 of 3 trials\n"
    ) in done.stdout.replace("uuid-v4 in guid", "bigint-identity in integer").replace(
        "uuid-v7 in guid", "bigint-identity in integer"
    )
    assert (acme / "keybench-verify-acme.zip").is_file()
