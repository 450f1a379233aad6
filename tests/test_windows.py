"""What Windows can do, it can also import: engines, `advise`, `inspect` and `report` load without Unix's modules."""

import subprocess
import sys

WITHOUT_UNIX = """
import os, pkgutil, sys
from importlib import import_module

def load():
    for name in ("databases", "advice", "results"):
        package = import_module(f"keybench.{name}")
        for info in pkgutil.walk_packages(package.__path__, f"keybench.{name}."):
            if "contract_suite" not in info.name and not info.name.endswith("__main__"):
                import_module(info.name)
    for command in import_module("keybench.cli").COMMANDS.values():
        import_module(command.module)
    return sorted(import_module("keybench.databases.registry").engines())

load()  # what other distributions import is loaded: only keybench's own modules are imported again
for name in [name for name in sys.modules if name.partition(".")[0] == "keybench"]:
    del sys.modules[name]
for name in ("pwd", "grp", "fcntl", "resource", "termios"):
    sys.modules[name] = None  # importing it raises ImportError
sys.platform = "win32"
for name in ("geteuid", "getuid", "fork", "sched_getaffinity", "O_NOFOLLOW", "O_CLOEXEC"):
    delattr(os, name)
print(*load())
"""


def test_everything_loads_without_unix() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_UNIX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["mariadb", "mssql", "mysql", "oracle", "postgresql", "sqlite"]
