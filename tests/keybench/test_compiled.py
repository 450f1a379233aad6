"""Compiled loops and where their machine code is kept."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import keybench.compiled
from keybench.compiled import inlined, kernel
from keybench.compiling import when_compiling

ONE = """from keybench.compiled import kernel

@kernel
def one():
    return {}
"""
TWO = """from keybench.compiled import kernel
from keybench.part.one import one

@kernel
def two():
    return one() + 1
"""
LOOPS = """from keybench.compiled import kernel

@kernel
def doubled(value):
    return 2 * value

@kernel
def next_one(value):
    return value + 1
"""


def test_a_loop_is_compiled_also_where_its_machine_code_cannot_be_kept() -> None:
    names = {"kernel": kernel}
    # No directory belongs to code that lies in no file: numba refuses to keep it.
    exec("@kernel\ndef doubled(value):\n    return 2 * value\n", names)
    assert names["doubled"](21) == 42  # type: ignore[operator]


def test_kernels_pass_one_another_one_type_of_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # what is loaded from there knows no types of calls
    told = kernel(lambda number, yes, more=3: 1000 * number + 100 * yes + more)
    less = inlined(lambda one, other: one - other)

    @kernel
    def calling(narrow, unsigned):  # type: ignore[no-untyped-def]
        few = told(1, True) + told(narrow[0], False) + told(number=narrow[1], yes=narrow[0] > 4, more=narrow.size)
        return few, less(narrow[0], 7), less(unsigned[0], unsigned[1])

    def types(of: Any) -> set[tuple[str, ...]]:
        within = of.get_overload.__self__  # the one that kernels call
        return {tuple(map(str, signature)) for signature in within.signatures}

    five, most = np.array([5, 6], np.int32), 2**64 - 1
    assert calling(five, np.array([3, 4], np.uint64)) == ((1103 + 5003 + 6102), -2, most)
    assert types(told) == {("int64", "bool", "omitted(default=3)"), ("int64", "bool", "int64")}
    assert types(less) == {("int64",) * 2, ("uint64",) * 2}


def test_a_change_in_another_module_is_noticed(tmp_path: Path) -> None:
    package = tmp_path / "keybench"
    (package / "part").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "part" / "__init__.py").touch()
    shutil.copy(keybench.compiled.__file__, package / "compiled.py")
    (package / "part" / "two.py").write_text(TWO)

    def said(value: int) -> str:
        (package / "part" / "one.py").write_text(ONE.format(value))
        done = subprocess.run(
            [sys.executable, "-B", "-c", "from keybench.part.two import two; print(two())"],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    assert [said(1), said(5)] == ["2\n", "6\n"]
    assert len(list((package / "__pycache__").glob("kernels-*"))) == 1


def test_compiling_is_told_once_and_only_where_it_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "loops.py").write_text(LOOPS)
    told: list[str] = []
    for _ in range(2):  # the second time, the machine code is there
        with when_compiling(lambda: told.append("compiling")):
            loops = runpy.run_path(str(tmp_path / "loops.py"))
            assert (loops["doubled"](21), loops["next_one"](6)) == (42, 7)
        assert told == ["compiling"]


def test_a_change_in_a_module_that_extends_numba_is_noticed(tmp_path: Path) -> None:
    """Its code becomes part of kernels, as that of `pagemodels.memory` does."""
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").touch()
    prints = []
    for value in (1, 2):
        (tmp_path / "part" / "memory.py").write_text(f"from numba.extending import intrinsic\nVALUE = {value}\n")
        prints.append(keybench.compiled._fingerprint(tmp_path))
    assert prints[0] != prints[1]


def test_a_first_use_is_asked_about_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keybench.compiled, "_directory", lambda: str(tmp_path / "kernels"))
    assert [keybench.compiled.first_use(name) for name in ("sqlite", "sqlite", "mariadb")] == [True, False, True]
    monkeypatch.setattr(keybench.compiled, "_directory", lambda: "/proc/nowhere")
    assert not keybench.compiled.first_use("sqlite"), "nothing can be kept there"
