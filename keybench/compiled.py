"""Loops compiled by numba, for what numpy cannot say in whole arrays. Importing this imports numba (0.25 s)."""

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, Self, TypeVar, cast

import numba
import numpy as np
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

P = ParamSpec("P")
R = TypeVar("R")

int64 = cast("Callable[[Any], int]", np.int64)
"""`np.int64` in kernels, where a variable would have two types."""

_MARKS = b"keybench.compiled", b"numba"
"""Texts by which modules with compiled code are known."""
_PREFIX = "kernels-"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a function of numbers and arrays at its first call for each set of argument types.

    A call from another kernel passes signed integers as int64, and literals without their values (`_of_few_types`).

    The machine code is cached (`_directory`; if that cannot be written, in the user's cache directory), so that a
    second process starts at once. The function releases the interpreter lock. Tests alone check indices
    (`NUMBA_BOUNDSCHECK=1`). The caller keeps all arrays in memory: references to them are not counted, which would take
    longer than many short loops, and a fifth of the time to compile. So no array can be made (NumbaRuntimeError).
    """
    return _compiled(function, _nrt=False)


def allocating(function: Callable[P, R]) -> Callable[P, R]:
    """As `kernel`, for a function that makes arrays: references are counted. It can return an array only to Python."""
    return _compiled(function, _nrt=True)  # set, because else the caller's setting would go for this function too


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As `kernel`, for a function that becomes part of its caller: one line, or called often by one kernel only.

    A call passes seven words for each array. That is more work than many short loops.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    """The function as Python calls it. Kernels that call it get a copy without an entry from Python and without machine
    code of its own: to make these would take more than half of the time to compile it."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__ = f"{function.__qualname__}.within"  # another name in machine code
    for_kernels = _njit(**_OPTIONS, **options, **_FOR_KERNELS)(copy)
    for_python = _cached(function, **options)
    # What numba asks when a kernel calls the function: the copy answers.
    for_python.get_call_template = _of_few_types(for_kernels.get_call_template)
    for_python.get_overload = for_kernels.get_overload
    return cast("Callable[P, R]", for_python)


_Library: Any = JITCodeLibrary
_Compiler: Any = Compiler
_njit: Any = numba.njit


class _Part(_Library):  # type: ignore[misc]
    """The code of a function that only kernels call. It becomes a part of theirs and is optimised there. Alone it is
    neither optimised nor made machine code, which halves LLVM's time. So numba has no place for notes about it."""

    def _optimize_final_module(self) -> None:
        """Only inlines what has to be inlined, numba's first step."""
        passes, builder = self._codegen._module_pass_manager(opt=0, loop_vectorize=False, cost="cheap")
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """Ends without machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> Self:
        """This object, because `get_executable` calls `codegen.set_env`."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Does nothing: the function's environment has no place."""


class _PartCompiler(_Compiler):  # type: ignore[misc]
    """numba's compiler, with a `_Part` for the code."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, library or _Part(target.codegen(), "part"), *rest)


_OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
_FOR_KERNELS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _PartCompiler}


def _of_few_types(resolve: Callable[[Any, Any], Any]) -> Callable[[Sequence[Any], Mapping[str, Any]], Any]:
    """Resolves a call from a kernel as `resolve` does, but with one type for all signed integers.

    For numba each literal has a type of its own, and each width: it would compile `touch(page, True)` and
    `touch(page, False)` apart, and once more for a page from an int32 array. Types of unsigned integers stay: what is
    computed from them depends on it. The call is resolved by numba.core.types.functions.Dispatcher.get_call_type.
    """

    def get_call_template(args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        return resolve([_plain(each) for each in args], {name: _plain(each) for name, each in kws.items()})

    return get_call_template


def _plain(argument_type: Any) -> Any:
    """A numba type without a literal's value, and int64 for signed integers of any width."""
    types: Any = numba.types
    plain = types.unliteral(argument_type)
    return types.int64 if isinstance(plain, types.Integer) and plain.signed else plain


def _cached(function: Callable[..., Any], **options: bool) -> Any:
    """numba's compiler of a function, with the machine code in `_directory`."""
    settings: Any = numba.config
    users_directory = settings.CACHE_DIR  # empty without NUMBA_CACHE_DIR
    try:
        settings.CACHE_DIR = users_directory or _directory()
        return _njit(cache=True, **_OPTIONS, **options)(function)
    except RuntimeError:  # neither directory can be written: every process compiles anew
        return _njit(**_OPTIONS, **options)(function)
    finally:
        settings.CACHE_DIR = users_directory


@cache
def _directory() -> str:
    """The folder of machine code, named by a hash of all modules with kernels. Folders of other hashes are removed.

    Left to itself, numba only watches a kernel's own module. It would go on using machine code that contains an older
    version of another module's kernel.
    """
    root = Path(__file__).parent
    folder = root / "__pycache__" / f"{_PREFIX}{_fingerprint(root)}"
    for other in folder.parent.glob(f"{_PREFIX}*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return str(folder)


def first_use(name: str) -> bool:
    """Whether nobody has asked for `name` since the kernels last changed; never where machine code cannot be kept."""
    mark = Path(_directory()) / f"{name}.used"
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch(exist_ok=False)
    except OSError:
        return False
    return True


def _fingerprint(root: Path) -> str:
    """A hash of the names and texts of all modules below `root` that have kernels: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for package in sorted(path.parent for path in root.glob("*/__init__.py")):
        for path in sorted(package.rglob("*.py")):
            text = path.read_bytes()
            if any(mark in text for mark in _MARKS):
                digest.update(f"{path.relative_to(root)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]
