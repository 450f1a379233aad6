"""The mapping of the recommended key to paste into an ORM: `orms/*.toml`, one file an ORM.

A new ORM is one file: its name is the ORM's, and nothing lists it. Where a program makes the key, the library call is
that of `libraries`, in the language of the ORM.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from keybench.advice.how_to.libraries import LayoutName, calls_for
from keybench.advice.how_to.statements import create_table
from keybench.databases.contract.engine import Engine
from keybench.databases.core.ddl import sql_type
from keybench.errors import unknown_name
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.keys import Kind

_WORD = re.compile(r"\{\{(\w+)\}\}")
_DEFAULT = re.compile(r"(?ms)^  id [^\n]*? DEFAULT (.+?)(?: NOT NULL)?(?: PRIMARY KEY)?,?\n(?=  \S|\))")
"""The default of the column `id` in a statement that creates a table: of several lines, up to the next column."""


class Entry(BaseModel):
    """One mapping, and the keys that it fits. An empty list fits all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keys: Kind
    layouts: tuple[LayoutName, ...] = ()
    databases: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """Names of columns, for example `binary16`."""
    made_by: Literal["client", "server", "any"]
    code: str
    """`{{call}}` stands for the library call, `{{setup}}` for its imports, `{{default}}` for the SQL by which
    the server makes the key, `{{type}}` for the column's type."""
    trap: str
    trap_on: Mapping[str, str] = {}
    """By database, what is said in place of `trap`."""
    source: str
    """The page that it rests on."""
    run: tuple[str, ...] = ()
    """The databases on which keybench's tests run it."""

    def fits(self, database: str, column: str, name: str, *, by_server: bool) -> bool:
        """Whether it is for keys of the layout `name`, made by the server or by a client, in that column."""
        pairs = ((self.layouts, name), (self.databases, database), (self.columns, column))
        in_lists = all(one in names for names, one in pairs if names)  # an empty list fits all
        made_by = "server" if by_server else "client"
        return self.made_by in ("any", made_by) and self.keys == layout(name).kind and in_lists


class Orm(BaseModel):
    """The mappings of one ORM. The first one that fits is the one to take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    version: str
    """The version that was looked at."""
    language: str
    """Of its library calls: a file in `data`."""
    databases: tuple[str, ...] = ()
    """Those that it knows; empty for all."""
    mapping: tuple[Entry, ...]


@dataclass(frozen=True)
class Snippet:
    """What people paste, and what to know of it."""

    title: str
    """The ORM with its version."""
    code: str
    """Empty where keybench has no mapping of such a key; the notes then say what to do."""
    notes: tuple[str, ...]
    """The trap, where the key comes from, the page that the mapping rests on."""


def snippet(orm: Orm, on: Engine, version: str, column: Column, name: str, *, by_server: bool) -> Snippet:
    """The mapping of that column for keys of the layout `name`, which the server or the program makes."""
    title = f"{orm.title} {orm.version}"
    if orm.databases and on.name not in orm.databases:
        return Snippet(title, "", (f"{orm.title} does not know {on.title}, only {', '.join(orm.databases)}.",))
    # what can stand for the words in the code of a mapping: the type always, the others if they are known
    calls = [call for call in calls_for(name) if call.language == orm.language]
    values = {"type": sql_type(column).split(" ")[0]}
    if calls:
        values |= {"setup": calls[0].setup.strip(), "call": calls[0].call}
    created = "\n".join(statement.sql for statement in create_table(on, version, column, name))
    if default := _DEFAULT.search(created):
        values["default"] = " ".join(default[1].split())
    origins = [f"{one.call} of {one.origin}" for one in calls]
    origin = f"Key: {'; or '.join(origins)}"
    for entry in orm.mapping:
        words = set(_WORD.findall(entry.code))
        if words <= values.keys() and entry.fits(on.name, column.name, name, by_server=by_server):
            how = "keybench's tests run it" if on.name in entry.run else "not run by keybench"
            notes = [f"Trap: {entry.trap_on.get(on.name, entry.trap)}", *([origin] if "call" in words else [])]
            code = _WORD.sub(lambda word: values[word[1]], entry.code.strip())
            return Snippet(title, code, (*notes, f"Rests on ({how}): {entry.source}"))
    way_out = "read the new key back by SQL of your own" if by_server else "let the server make it (--made-by server)"
    way_out = "give each new row its key before it is saved" if calls else way_out
    trap = f"keybench has no mapping of such a key for {orm.title}: create the table by the SQL above, and {way_out}."
    return Snippet(title, "", (trap, origin) if calls else (trap,))


def orm(name: str) -> Orm:
    """The ORM of that name. UsageError, which lists all, for another name."""
    if name not in orms():
        raise unknown_name("ORM", name, orms())
    return orms()[name]


@cache
def orms() -> Mapping[str, Orm]:
    """The ORMs by name."""
    folder = files("keybench.advice.how_to") / "orms"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".toml")}
    return {name.removesuffix(".toml"): Orm(**tomllib.loads(texts[name])) for name in sorted(texts)}
