"""Whatever keybench is given, it ends in time, with an exit code that DESIGN names, no traceback, no secret shown."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.cases import KINDS, case
from tests.fuzz.harness import Case, run
from tests.fuzz.samples import RESULTS, Samples, samples

SHORT = {"scenarios": 3, "urls": 15, "options": 15, "config": 15, "results": 5, "baselines": 12}
SHORT |= {"bundles": 6, "advice": 5, "names": 8, "outputs": 8, "streams": 5}
LONG = {
    "scenarios": 25_000,
    "urls": 20_000,
    "options": 15_000,
    "config": 15_000,
    "results": 15_000,
    "baselines": 10_000,
    "bundles": 5_000,
    "advice": 2_500,
    "names": 5_000,
    "outputs": 5_000,
    "streams": 2_500,
}
PART = 2_500
"""Cases of one test, so that several processes can share them."""

MEMORY = 500 << 10
"""The most that a command may take, in KiB."""
_MEASURED = """
import atexit, re, sys
from pathlib import Path
peak = re.compile(r"VmHWM:\\s*(\\d+)")
atexit.register(lambda: Path("peak").write_text(peak.search(Path("/proc/self/status").read_text())[1]))
from keybench.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    return samples(tmp_path_factory.mktemp("samples"))


def check(kind: str, numbers: range, made: Samples, folder: Path) -> None:
    failed: list[str] = []
    for number in numbers:
        place = folder / str(number)
        place.mkdir()
        one = case(kind, number, made)
        ending = run(one, place)
        if ending.failure:
            failed.append(f"{kind}/{number}: {shown(one)}\n{ending.failure}")
        shutil.rmtree(place)
    assert not failed, f"{len(failed)} of {len(numbers)}:\n" + "\n".join(failed[:3])


def shown(one: Case) -> str:
    files = {name: content[:300] for name, content in one.files.items() if not name.endswith(".sqlite")}
    return f"{one.arguments!r:.600} {files!r:.600} {dict(one.environment)!r:.300}"


@pytest.mark.timeout(300, method="thread")
@pytest.mark.parametrize("kind", KINDS)
def test_a_few_cases(kind: str, made: Samples, tmp_path: Path) -> None:
    check(kind, range(SHORT[kind]), made, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600, method="thread")
@pytest.mark.parametrize(("kind", "first"), [(kind, at) for kind in KINDS for at in range(0, LONG[kind], PART)])
def test_all_cases(kind: str, first: int, made: Samples, tmp_path: Path) -> None:
    check(kind, range(first, first + PART), made, tmp_path)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone says what a process took")
@pytest.mark.parametrize(
    "command",
    ["run --db all --server model --rows 600 --blocks 1 --no-config", "advise --db mysql --rows 1e9",
     f"report latest --results {RESULTS} -o r.html", f"site latest --results {RESULTS} -o site",
     f"compare latest:layout=uuid-v4 latest:layout=uuid-v7 --results {RESULTS}",
     f"export latest --bundle --results {RESULTS}", f"inspect {RESULTS}"],
)  # fmt: skip
def test_a_command_takes_little_memory(command: str, made: Samples, tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_bytes(made.whole)
    subprocess.run([sys.executable, "-c", _MEASURED, *command.split()], cwd=tmp_path, check=True)
    assert 10_000 < int((tmp_path / "peak").read_text(encoding="utf-8")) <= MEMORY


def test_the_long_ones_are_a_hundred_thousand() -> None:
    assert sum(LONG.values()) >= 100_000
    assert all(count % PART == 0 for count in LONG.values())
