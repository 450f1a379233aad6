"""The distribution installs one name."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_keybench_alone_and_everything_that_it_needs(tmp_path: Path) -> None:
    source = tmp_path / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).is_symlink():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).symlink_to((ROOT / name).readlink())
        elif (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"keybench"}
    for package in ("generators", "scenarios", "pagemodels", "databases", "runners", "results", "advice"):
        packaged = {n for n in names if n.startswith(f"keybench/{package}/")}
        for path in (ROOT / package).rglob("*"):
            if path.suffix in {".py", ".toml", ".jinja", ".css", ".js", ".sql"}:
                assert f"keybench/{path.relative_to(ROOT)}" in packaged, f"{path} is missing from the wheel"
    assert not [n for n in names if n.startswith(("keybench/tests", "keybench/benchmarks", "keybench/setup"))]
