"""`scripts/mysql.sh` and `scripts/versions.sh` where they cannot work: one line says why, and nothing is left."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from keybench.databases.mysql.flavour import MYSQL

SCRIPT = Path(__file__).parents[1] / "scripts" / "mysql.sh"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TOOLS = ("cat", "dirname", "grep", "head", "mkdir", "mv", "rm", "sed", "uname")

Note = Callable[..., str]


@pytest.fixture
def note(tmp_path: Path) -> Note:
    """What the script says in an empty checkout on a machine with these programs."""
    (tmp_path / "scripts").mkdir()
    for name in ("mysql.sh", "unpack.sh"):
        shutil.copy(SCRIPT.with_name(name), tmp_path / "scripts")

    def run(programs: Sequence[str], **environment: str) -> str:
        path = tmp_path / "path"
        path.mkdir(exist_ok=True)
        for name in (*TOOLS, *programs):
            found = shutil.which(name)
            if found is None:
                pytest.skip(f"this machine has no {name}")
            if not (path / name).exists():
                (path / name).symlink_to(found)
        own = {**environment, "PATH": str(path), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8"}
        command = ["/bin/sh", tmp_path / "scripts" / "mysql.sh"]
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")
        assert not (tmp_path / "build").exists() or not list((tmp_path / "build").iterdir())
        return done.stderr

    if _has_mysql():
        pytest.skip("a MySQL of this machine's own is installed")
    return run


def _has_mysql() -> bool:
    program = Path("/usr/sbin/mysqld")  # the only one that the script finds with the tests' PATH
    if not program.exists():
        return False
    return "MariaDB" not in subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout


def test_a_system_without_apt(note: Note) -> None:
    assert note(()) == (
        "note: no MySQL: it is unpacked from Debian's packages, and this machine has no apt-get; "
        "tests that need it are left out.\n"
    )


@pytest.mark.skipif(not KEYRING.exists(), reason="this machine is no Debian")
def test_a_machine_without_network(note: Note) -> None:
    said = note(("apt-get", "dpkg", "dpkg-deb"), http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")
    assert re.fullmatch(
        r"note: no MySQL: Debian's index cannot be used \(Failed to fetch https?://\S+/dists/sid/InRelease "
        r"Could not connect to 127\.0\.0\.1:9 \(127\.0\.0\.1\)\. - connect \(111: Connection refused\)\); "
        r"tests that need it are left out\.\n",
        said,
    ), said


def test_nothing_happens_where_it_is_unpacked(note: Note, tmp_path: Path) -> None:
    programs = tmp_path / "build" / "mysql" / "bin"
    programs.mkdir(parents=True)
    for name in ("mysqld", "mysqldump"):
        (programs / name).write_text("#!/bin/sh\nexit 0\n")
        (programs / name).chmod(0o755)
    command = ["/bin/sh", tmp_path / "scripts" / "mysql.sh"]
    done = subprocess.run(command, env={"PATH": "/bin:/usr/bin"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(path.name for path in programs.iterdir()) == ["mysqld", "mysqldump"]


def test_a_prepared_servers_log_has_the_size_of_keybenchs_servers() -> None:
    """MySQL fills a file of another size with zeros, and the order of arrival that is in it is lost."""
    capacity = MYSQL.settings["innodb_redo_log_capacity"]
    assert re.findall(r"--innodb-redo-log-capacity=(\S+)", SCRIPT.read_text(encoding="utf-8")) == [capacity]


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


def test_nothing_happens_where_that_version_is_unpacked(tmp_path: Path) -> None:
    programs = tmp_path / "build" / "versions" / "mariadb-11.8" / "bin"
    programs.mkdir(parents=True)
    (programs / "mariadbd").write_text("#!/bin/sh\nexit 0\n")
    (programs / "mariadbd").chmod(0o755)
    assert run(tmp_path, "mariadb", "11.8") == (0, "", "")
    assert [path.name for path in programs.iterdir()] == ["mariadbd"]
