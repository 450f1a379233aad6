"""Parsers of what users give, which raise ValueError for all that they cannot read.

Python's own also raise RecursionError for values nested some hundred deep, and MemoryError. Both are the input's fault.
"""

import json
import tomllib
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def parsed(parse: Callable[[str], T], text: str) -> T:
    """What the parser reads in a text. Raises ValueError, whose message is for the user, if it cannot."""
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    except MemoryError:
        raise ValueError("it needs more memory than there is") from None


def toml(text: str) -> dict[str, Any]:
    """The table in a TOML text."""
    return parsed(tomllib.loads, text)


def from_json(text: str) -> Any:
    """The value in a JSON text, without NaN and infinity, which RFC 8259 does not have; lone surrogates are escaped."""
    tree = parsed(lambda given: json.loads(given, parse_constant=_no_number), text)
    return _printable(tree) if "\\ud" in text.lower() else tree


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _printable(tree: Any) -> Any:
    """The same JSON value with lone surrogates, which cannot be printed, written as \\uXXXX."""
    if isinstance(tree, dict):
        return {_printable(name): _printable(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_printable(value) for value in tree]
    return tree.encode("utf-8", "backslashreplace").decode() if isinstance(tree, str) else tree
