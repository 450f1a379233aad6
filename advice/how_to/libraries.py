"""The well-kept library call for a layout in each language: `data/*.toml`, one file a language.

A new language is one file: its name is the language's, and nothing lists it.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from keybench.errors import UsageError
from keybench.generators.core.layout import layout, layouts

Ascends = Literal["each key", "each millisecond", "no"]
"""Whether the calls of one process give keys that ascend in the layout's order: each above the one before; those of a
later millisecond (or the layout's own unit of time) above those of an earlier one; or in no order."""
Checked = Literal["run", "golden", "documentation"]
"""How keybench knows what is said of a call: the tests ran it; with fixed inputs it gave the bytes of our layout, too;
or it was only read."""


def _registered(name: str) -> str:
    """The name, if it is a layout's own. ValueError for other text and for a layout's second name."""
    if name not in layouts() or layout(name).name != name:
        raise ValueError(f"{name!r} is no layout: `keybench list layouts` has all")
    return name


LayoutName = Annotated[str, AfterValidator(_registered)]
"""The registered name of a layout."""


class LibraryCall(BaseModel):
    """One call that makes a key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str
    """The name of the file, for example `csharp`."""
    title: str
    """Of the language, for people."""
    layouts: tuple[LayoutName, ...]
    """The layouts for which it is advised, by their registered names."""
    package: str
    version: str
    """The version that was looked at."""
    since: str
    """The first version of language or package with this call."""
    install: str = ""
    """The command; empty if it comes with the language."""
    setup: str = ""
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
    def origin(self) -> str:
        """The library with its version, and how to get it."""
        return f"{self.package} {self.version}" + (f" ({self.install})" if self.install else "")


def calls_for(name: str) -> list[LibraryCall]:
    """The calls for a layout, the first of each language the one to prefer; empty where no library makes such keys.
    UsageError for a layout that is not known."""
    chosen = layout(name).name
    return [call for calls in languages().values() for call in calls if chosen in call.layouts]


@cache
def languages() -> Mapping[str, tuple[LibraryCall, ...]]:
    """The calls of each language, by its name."""
    folder = files("keybench.advice.how_to") / "data"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".toml")}
    return {name.removesuffix(".toml"): read(name, texts[name]) for name in sorted(texts)}


def read(file: str, text: str) -> tuple[LibraryCall, ...]:
    """The calls of one file. UsageError that names the file and the field that is wrong."""
    try:
        content = tomllib.loads(text)
        language = {"language": file.removesuffix(".toml"), "title": content["title"]}
        return tuple(LibraryCall(**language, **call) for call in content["call"])
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise UsageError(f"{file} is no TOML with a title and a list of calls: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
