"""`scripts/versions.sh` for versions that it cannot bring, and where it need not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    (folder / "scripts").mkdir()
    for name in ("versions.sh", "unpack.sh"):
        shutil.copy(SCRIPTS / name, folder / "scripts")
    command = ["/bin/sh", folder / "scripts" / "versions.sh", *arguments]
    done = subprocess.run(
        command, env={"PATH": "/bin:/usr/bin"}, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("version", ["8.0", "8.4"])
def test_a_mysql_that_nobody_packages(tmp_path: Path, version: str) -> None:
    assert run(tmp_path, "mysql", version) == (
        4,
        "",
        f"MySQL {version} cannot be had: no suite of Debian, no npm package and no wheel contains it. Give the URL of "
        "yours.\n",
    )


@pytest.mark.parametrize("arguments", [("postgresql", "12"), ("postgres", "17"), ("mariadb",)])
def test_an_unknown_version(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    engine, version = (*arguments, "")[:2]
    assert run(tmp_path, *arguments) == (
        2,
        "",
        f"there is no {engine} {version} here: choose one of postgresql-13 postgresql-14 postgresql-15 postgresql-16 "
        "postgresql-17 postgresql-18 mariadb-10.11 mariadb-11.8 mysql-9.7.\n",
    )


def test_nothing_happens_where_it_is_unpacked(tmp_path: Path) -> None:
    programs = tmp_path / "build" / "versions" / "mariadb-11.8" / "bin"
    programs.mkdir(parents=True)
    (programs / "mariadbd").write_text("#!/bin/sh\nexit 0\n")
    (programs / "mariadbd").chmod(0o755)
    assert run(tmp_path, "mariadb", "11.8") == (0, "", "")
    assert [path.name for path in programs.iterdir()] == ["mariadbd"]


def test_a_machine_without_debians_packages(tmp_path: Path) -> None:
    path = tmp_path / "path"
    path.mkdir()
    for name in ("dirname", "mkdir", "rm", "uname"):
        (path / name).symlink_to(f"/bin/{name}")
    (tmp_path / "scripts").mkdir()
    for name in ("versions.sh", "unpack.sh"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
    command = ["/bin/sh", tmp_path / "scripts" / "versions.sh", "mariadb", "11.8"]
    done = subprocess.run(command, env={"PATH": str(path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "note: no mariadb 11.8: it is unpacked from Debian's packages, and this machine has no apt-get.\n"
    )
    assert list((tmp_path / "build" / "versions").iterdir()) == []
