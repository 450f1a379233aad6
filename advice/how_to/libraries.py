"""The well-kept library call for a layout in each language: `data/*.toml`, one file a language.

    calls_for("uuid-v7", "python")

A new language is one file: its name is the language's, and nothing lists it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from keybench.errors import UsageError, unknown_name
from keybench.generators.core.layout import layout, layouts

Ascends = Literal["each key", "each millisecond", "no"]
"""Whether the calls of one process give keys that ascend in the layout's order: each above the one before; those of a
later millisecond (or the layout's own unit of time) above those of an earlier one; or in no order."""
Checked = Literal["run", "golden", "documentation"]
"""How keybench knows what is said of a call: the tests ran it; with fixed inputs it gave the bytes of our layout, too;
or it was only read."""


@dataclass(frozen=True)
class LibraryCall:
    """One call that makes a key."""

    language: str
    """The name of the file, for example `csharp`."""
    title: str
    """Of the language, for people."""
    layouts: tuple[str, ...]
    """The layouts for which it is advised, by their registered names."""
    package: str
    version: str
    """The version that was looked at."""
    since: str
    """The first version of language or package with this call."""
    install: str
    """The command; empty if it comes with the language."""
    setup: str
    """Lines before the call: imports, and an object that is kept."""
    call: str
    ascends: Ascends
    random_bits: int
    """Bits of each key that nobody can guess."""
    notes: str
    """What to know: byte orders, threads, restarts."""
    source: str
    """The page or file that was read."""
    checked: Checked = "documentation"

    @property
    def unguessable(self) -> bool:
        """Whether a stranger who knows one key cannot find others by trying."""
        return self.random_bits >= _ENOUGH


_ENOUGH = 60


def languages() -> Mapping[str, str]:
    """The title of each language, by name."""
    return {name: calls[0].title for name, calls in _all().items()}


def calls_for(layout: str, language: str = "") -> list[LibraryCall]:
    """The calls for a layout, the first of each language the one to prefer; of one language, or of all.

    UsageError for a layout or language that is not known. Empty where no library makes such keys.
    """
    name = _named(layout)
    known = _all()
    if language and language not in known:
        raise unknown_name("language", language, known)
    chosen = [known[language]] if language else list(known.values())
    return [call for calls in chosen for call in calls if name in call.layouts]


def _named(name: str) -> str:
    return layout(name).name


@cache
def _all() -> Mapping[str, tuple[LibraryCall, ...]]:
    folder = files("keybench.advice.how_to") / "data"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".toml")}
    return {name.removesuffix(".toml"): read(name, texts[name]) for name in sorted(texts)}


def read(file: str, text: str) -> tuple[LibraryCall, ...]:
    """The calls of one file. UsageError that names the file and the key that is wrong."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is no TOML: {error}.") from None
    language = file.removesuffix(".toml")
    if not re.fullmatch(r"[a-z]+", language):
        raise UsageError(f"{file}: name the file after the language, in small letters.")
    _require(file, "", content, {"title": str, "call": list}, set())
    if not content["call"]:
        raise UsageError(f"{file}: call is empty: give it at least one [[call]].")
    return tuple(
        _call(f"{file}, call {i}", language, content["title"], given)
        for i, given in enumerate(content["call"], start=1)
    )


_TYPES: Mapping[str, type] = {
    **{field.name: str for field in fields(LibraryCall) if field.name not in ("language", "title")},
    "layouts": list,
    "random_bits": int,
}
_OPTIONAL = {field.name for field in fields(LibraryCall) if field.default is not MISSING} | {"install", "setup"}


def _call(where: str, language: str, title: str, given: Any) -> LibraryCall:
    _require(where, " of the call", given, _TYPES, _OPTIONAL)
    for name in given["layouts"]:
        if name not in layouts() or layout(name).name != name:
            raise UsageError(f"{where}: layouts has {name!r}, which is no layout: `keybench list layouts` has all.")
    for key, allowed in (("ascends", get_args(Ascends)), ("checked", get_args(Checked))):
        if given.get(key, allowed[0]) not in allowed:
            raise UsageError(f"{where}: {key} is {given[key]!r}: choose one of {', '.join(allowed)}.")
    values = {"install": "", "setup": "", **given, "layouts": tuple(given["layouts"])}
    return LibraryCall(language=language, title=title, **values)


def _require(where: str, of: str, given: Any, types: Mapping[str, type], optional: Sequence[str] | set[str]) -> None:
    if not isinstance(given, dict):
        raise UsageError(f"{where}: this is no table.")
    for key in given:
        if key not in types:
            raise UsageError(f"{where}: unknown key {key!r}{of}. Known: {', '.join(types)}.")
    for key, kind in types.items():
        if key not in given and key not in optional:
            raise UsageError(f"{where}: {key} is missing.")
        if key in given and type(given[key]) is not kind:
            raise UsageError(f"{where}: {key} is {given[key]!r}: give {_SHOWN[kind]}.")


_SHOWN = {str: "a text", list: "a list", int: "a whole number"}
