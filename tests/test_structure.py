"""The tree explains itself: no import circles, short listings, short modules."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "keybench"
LONGEST_LISTING, LONGEST_MODULE = 20, 400
SUITE = "databases.contract_suite"
"""Tests that outsiders run too: like all tests they import what lies downstream."""
LISTED = ("runners", "databases", "generators/core", "results")


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the package by its dotted name below `keybench`."""
    links = [path for path in PACKAGE.iterdir() if path.is_symlink()]
    files = [*PACKAGE.rglob("*.py"), *(file for link in links for file in link.resolve().rglob("*.py"))]
    named = {}
    for file in files:
        parts = file.relative_to(PACKAGE if PACKAGE in file.parents else ROOT).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """What each module imports from keybench, wherever in it: also inside functions and for types alone."""
    known = modules()
    found = {}
    for module, file in known.items():
        if module.startswith(SUITE):
            continue
        names = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "keybench":
                base = (node.module or "").removeprefix("keybench").removeprefix(".")
                for alias in node.names:
                    full = f"{base}.{alias.name}".removeprefix(".")
                    names.add(full if full in known else base)
            elif isinstance(node, ast.Import):
                names |= {alias.name[9:] for alias in node.names if alias.name.startswith("keybench.")}
        found[module] = frozenset(names - {module, ""})
    return found


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """One circle of the graph, or nothing."""
    done: set[str] = set()
    for start in sorted(graph):
        path: list[str] = []
        ahead = [(start, iter(sorted(graph[start])))] if start not in done else []
        path.append(start)
        while ahead:
            node, after = ahead[-1]
            for following in after:
                if following in path:
                    return [*path[path.index(following) :], following]
                if following not in done and following in graph:
                    path.append(following)
                    ahead.append((following, iter(sorted(graph[following]))))
                    break
            else:
                done.add(node)
                path.pop()
                ahead.pop()
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circle(imports()) == []


PACKAGES = sorted(name for name, file in modules().items() if file.name == "__init__.py")


@pytest.mark.parametrize("package", ["", *(name for name in PACKAGES if name)], ids=lambda name: name or "keybench")
def test_what_stands_side_by_side_imports_one_way(package: str) -> None:
    """The modules and packages directly inside a package, each package as one."""
    prefix = f"{package}." if package else ""
    graph: dict[str, set[str]] = defaultdict(set)
    for module, names in imports().items():
        if module.startswith(prefix) and module != package:
            unit = module[len(prefix) :].split(".")[0]
            inside = {
                name[len(prefix) :].split(".")[0] for name in names if name.startswith(prefix) and name != package
            }
            graph[unit] |= inside - {unit}
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert circle({"a": ["b", "c"], "b": ["c"], "c": []}) == []


@pytest.mark.parametrize("top", LISTED)
def test_a_folder_can_be_read_at_a_glance(top: str) -> None:
    files = [file.relative_to(ROOT) for file in (ROOT / top).rglob("*") if file.is_file()]
    entries: dict[Path, set[str]] = defaultdict(set)
    for file in files:
        if "__pycache__" not in file.parts:
            for folder in file.parents:
                entries[folder].add(file.relative_to(folder).parts[0])
    assert len(entries[Path(top)]) > 1
    too_long = {str(folder): sorted(names) for folder, names in entries.items() if len(names) > LONGEST_LISTING}
    assert {folder: names for folder, names in too_long.items() if folder.startswith(top)} == {}


def test_modules_are_short() -> None:
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in modules().values()
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}
