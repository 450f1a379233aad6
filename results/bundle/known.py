"""The words that keybench itself defines, and so no secret of anybody: names, choices and settings.

Layouts and engines of other distributions do not count, because their names are not keybench's.
"""

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Final, get_args

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.settings import CacheSize, Profile
from keybench.generators.core.layout import Layout
from keybench.model.load_path import LOAD_PATHS
from keybench.model.names import CONTROL, NATIVE, NO_DATABASE, SUITED
from keybench.model.payload import Distribution
from keybench.model.table import KeyRole
from keybench.model.transactions import Isolation
from keybench.plugins import discover
from keybench.scenarios.files import field_names, scenario_names

_OURS: Final = "keybench."
_PAIRING: Final = frozenset({"default", "suited", "ordered", "suiting"})
"""The fields of a recorded pairing of layout and column."""
_PAGES: Final = frozenset({"block_size", "page_size", "data_checksums"})
"""Settings that engines read and never set."""
_ANSWERS: Final = frozenset({"on", "off", "true", "false", "yes", "no", "none", "default"})
"""Values that any known setting may have."""


@cache
def _engines() -> tuple[Engine, ...]:
    pairs = discover("keybench.databases", "ENGINE", folders=True)
    return tuple(engine for module, engine in pairs if module.startswith(_OURS) and isinstance(engine, Engine))


@cache
def words() -> frozenset[str]:
    """Names of layouts, engines, columns and shipped scenarios, fields and choices of a scenario; the empty text."""
    choices = [get_args(kind) for kind in (KeyRole, Distribution, Isolation, Profile, CacheSize)]
    names = {"", CONTROL, NATIVE, SUITED, NO_DATABASE, *LOAD_PATHS, *field_names(), *scenario_names(), *_PAIRING}
    names |= {word for kind in choices for word in kind} | titles().keys()
    names |= {column.name for engine in _engines() for column in engine.columns}
    for module, family in discover("keybench.layouts", "LAYOUTS"):
        if module.startswith(_OURS) and isinstance(family, list | tuple):
            names |= {name for one in family if isinstance(one, Layout) for name in (one.name, *one.aliases)}
    return frozenset(names)


@cache
def titles() -> Mapping[str, str]:
    """The products' names, by the names of their engines."""
    return {engine.name: engine.title for engine in _engines()}


@cache
def settings() -> Mapping[str, frozenset[str]]:
    """The words, in lower case, that a setting may have as its value, by the setting's name: of settings that keybench
    gives to servers of its own, of those that users choose by `--set`, and of page sizes."""
    values = dict.fromkeys([*_PAGES, *(one.name for engine in _engines() for one in engine.settable)], _ANSWERS)
    for engine, profile, size in product(_engines(), get_args(Profile), get_args(CacheSize)):
        for name, value in engine.settings(profile, size).values.items():
            values[name] = values.get(name, _ANSWERS) | {value.lower()}
    return values
