"""The layouts that an answer speaks of, each in the columns that fit, and the needs that each of them misses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import log2
from typing import Final, Literal

import numpy as np

from keybench.advice.how_to.statements import Default, can_hold, default_of
from keybench.advice.load import Growth, first_rows
from keybench.advice.needs import Needs
from keybench.databases.contract.engine import Engine
from keybench.databases.core.ddl import server_made
from keybench.generators.core.layout import Layout, layouts
from keybench.model.column import Column
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import ServerKeys, Table
from keybench.runners.planning.columns import pairing

Contention = Literal["one page", "a page a writer", "many pages"]
"""Where writers insert at the same time: all into the last page, each into its own, or anywhere."""

UNGUESSABLE_BITS: Final = 60
"""Bits drawn for each key, from which on a key cannot be guessed.

By the formula of OWASP's Session Management Cheat Sheet, (2^bits + 1) / (2 · guesses a second · keys that count), a
search with 10,000 guesses a second among 1,000 keys of one millisecond then takes more than 1,000 years.
"""

_SPREAD, _RANGES = 0.1, 64  # keys spread if no 64th of the index takes more than a tenth of them
_MAKERS: Final[Mapping[str, str]] = {
    "process": "which process made it",
    "machine": "which machine made it",
    "worker id": "which worker made it",
}


@dataclass(frozen=True)
class Properties:
    """What people ask of keys."""

    server: ServerKeys | None
    """What the server itself makes that is like keys of the layout; None if this version makes nothing like them."""
    default: Default
    """What makes such keys as the column's default, where the server itself does not; empty if nothing does."""
    by_clients: bool
    """Whether a client can make a key without asking anybody."""
    ascends: bool
    """Whether the column compares those bytes first by which the layout ascends."""
    sortable: bool
    """Whether keys sort by time in this column, over all writers."""
    random_bits: float  # drawn for each key
    tells: tuple[str, ...]
    """What a reader of one key learns."""
    uniqueness: str  # what makes keys of several writers differ (`Description.uniqueness`)
    contention: Contention

    @property
    def by_server(self) -> bool:
        """Whether the server makes such keys: itself, or by the column's default."""
        return self.server is not None or bool(self.default)

    @property
    def offers(self) -> Mapping[str, bool]:
        """By option of the command, whether the keys are as it asks."""
        words = {secret.split()[0] for secret in self.tells}  # when, roughly, which, how: as clauses of `_tells` begin
        return {
            "--made-by client": self.by_clients,
            "--made-by server": self.by_server,
            "--unguessable": self.random_bits >= UNGUESSABLE_BITS,
            "--hides-time": not {"when", "roughly"} & words,
            "--hides-machine": "which" not in words,
            "--merge": self.uniqueness not in ("plan", "worker id"),
            "--sortable": self.sortable,
        }


def properties(on: Engine, version: str, key_layout: Layout, column: Column, rows_per_second: float) -> Properties:
    """The properties of a layout's keys in one column of an engine of that version."""
    description = key_layout.description
    ascends = key_layout.suits(column)
    counts_rows = description.within == "always" and description.across == "always"  # the order of time, too
    server = server_made(on.server_keys, key_layout.name, column, on.versions.get(version, 0))
    return Properties(
        server=server,
        default="" if server else default_of(on, version, column, key_layout.name),
        by_clients=description.uniqueness != "plan" and not key_layout.one_counter,
        ascends=ascends,
        sortable=ascends and (description.time is not None or counts_rows),
        random_bits=random_bits(key_layout),
        tells=_tells(key_layout),
        uniqueness=description.uniqueness,
        contention=_contention(key_layout, column, rows_per_second),
    )


def random_bits(key_layout: Layout) -> float:
    """The bits that are drawn for each key. A drawn character of text has log2 of its alphabet's size: 5.2 of 36."""
    description = key_layout.description
    if key_layout.kind != "text":
        return float(description.random_width)
    return sum(
        part.width * log2(len(description.alphabets.get(part.letter, "") or "?"))  # no known alphabet: 0 bits
        for part in description.parts
        if part.letter in description.random
    )


def _tells(key_layout: Layout) -> tuple[str, ...]:
    """What a reader of one such key learns, as clauses: when it was made, who made it."""
    description = key_layout.description
    secrets = []
    if description.time is not None:
        secrets.append("when it was made")
    elif description.counts_from_clock:
        secrets.append("roughly when its process began")
    if description.uniqueness in _MAKERS:
        secrets.append(_MAKERS[description.uniqueness])
    if description.uniqueness == "plan" and description.within == "always":  # a counter of rows
        secrets.append("how many rows came before it")
    return tuple(secrets)


def _contention(key_layout: Layout, column: Column, rows_per_second: float) -> Contention:
    """Where several writers insert at the same time, from how a sample of the layout's keys spreads over the index."""
    if _hottest_share(key_layout.name, column, rows_per_second) <= _SPREAD:
        return "many pages"
    return "a page a writer" if key_layout.description.across == "no" and not key_layout.one_counter else "one page"


@cache
def _hottest_share(name: str, column: Column, rows_per_second: float) -> float:
    """The share of one writer's next keys that goes to the hottest of 64 ranges, which hold equally many older keys.
    1/64 and a little where keys spread over all ranges, 1 where each key goes to the last range."""
    older, newer = 4096, 1024  # keys: the first give the borders of the ranges, the others are counted in them
    # the first word of each key's bytes decides its place among so few keys
    words = first_rows(name, column, Growth(older + newer, rows_per_second), older + newer, seed=1).words[:, 0]
    borders = np.sort(words[:older])[:: older // _RANGES][1:]  # 63 between the ranges: the lowest key is none
    counts = np.bincount(np.searchsorted(borders, words[older:], side="right"), minlength=_RANGES)
    return float(counts.max() / newer)


@dataclass(frozen=True)
class Candidate:
    """One layout in one column."""

    on: Engine
    version: str
    """Of the server, as people write it; empty where none is known."""
    layout: Layout
    column: Column
    """Sized for the layout's keys."""
    properties: Properties
    misses: tuple[str, ...]
    """The needs that its keys do not meet, each as a sentence without a full stop."""
    missed_options: tuple[str, ...]
    """The options that ask for them."""

    @property
    def name(self) -> str:
        """The layout's name."""
        return self.layout.name

    @property
    def fits(self) -> bool:
        """Whether keys with an order keep it in the column; True for keys without one."""
        return self.properties.ascends or self.layout.order == "none"

    @cached_property
    def label(self) -> str:
        """The layout, with its column if that is not the engine's own choice."""
        usual = self.on.default_column(self.layout.kind, self.layout.shared_bits()).name
        return self.name if self.column.name == usual else f"{self.name} · {self.column.name}"

    @property
    def type_name(self) -> str:
        """The column's type as people name it, without its character set."""
        return self.column.sql_type.format(width=self.column.width).split(" ")[0]

    def table(self, payload: int) -> Table:
        """A table with this key and `payload` characters beside it."""
        settings = self.on.settings_of_versions.get(self.version, {})
        return Table("t", self.column, payload, self.on.usual_role, settings=settings)


def candidates(needs: Needs, well_kept: Callable[[str], bool]) -> list[Candidate]:
    """All layouts that people can get, in each column that fits, with the needs that they miss. People get a layout by
    a library (`well_kept`), from this server, or because the needs name it. Keys that the table has are among them,
    whoever makes them: counters of 32 bits, hi/lo, names."""
    on = needs.on
    in_any_case = {CONTROL, RANDOM, *needs.layouts, *([needs.existing.layout] if needs.existing else [])}
    in_any_case |= {one.replica for one in on.server_keys}  # the layouts that are like the server's own keys
    listed = []
    for key_layout in dict.fromkeys(layouts().values()):  # once each: some have a second name
        if not (key_layout.name in in_any_case or well_kept(key_layout.name)):
            continue
        for column in _columns(on, key_layout, needs):
            one = _candidate(needs, key_layout, column)
            if one.properties.by_clients or one.properties.by_server or _table_has(needs, key_layout, column):
                listed.append(one)
    return listed


def _candidate(needs: Needs, key_layout: Layout, column: Column) -> Candidate:
    """The layout in that column, with its properties there and the needs that it misses."""
    sized = column.sized(key_layout.key_bytes)
    facts = properties(needs.on, needs.version, key_layout, sized, needs.rows_per_second)
    misses = _misses(needs, key_layout, sized, facts)
    return Candidate(needs.on, needs.version, key_layout, sized, facts, tuple(misses.values()), tuple(misses))


def for_new_rows(
    needs: Needs, today: Candidate, best: Candidate, others: Sequence[Candidate], languages: Callable[[str], int]
) -> Candidate | None:
    """The keys that new rows get if today's column stays: the best ones, if they ascend in it or it is their column.
    Else those that most languages make, of all that ascend in it and meet the needs. None if there are none, or if
    today's keys ascend. `languages`: in how many languages a well-kept library makes a layout."""
    held = (today.layout.kind, today.layout.key_bytes)  # what today's column holds
    of_same_size = [one.layout for one in (best, *others) if (one.layout.kind, one.layout.key_bytes) == held]
    if best.layout in of_same_size and (best.column == today.column or best.layout.suits(today.column)):
        return _candidate(needs, best.layout, today.column)
    if today.properties.ascends:
        return None
    by_name = {one.name: one for one in of_same_size if one.suits(today.column)}  # each layout once
    fitting = (_candidate(needs, one, today.column) for one in by_name.values())
    # the type is that of today's column, which stays; nobody has to number the writers
    possible = [
        one
        for one in fitting
        if {*one.missed_options} <= {f"--type {needs.type}"} and one.properties.uniqueness != "worker id"
    ]
    return max(possible, key=lambda one: languages(one.name), default=None)


def _columns(on: Engine, key_layout: Layout, needs: Needs) -> Sequence[Column]:
    """The columns in which an answer looks at the layout: the engine's own, the one in whose order it ascends, that of
    the server's own keys, and the one that the table has. Where this version of the server has none of them, the first
    column of bytes that it has. Columns that imitate another engine's (`stands_in_for`) only if the table has them."""
    if not any(key_layout.kind in column.kinds for column in on.columns):
        return []
    pair = pairing(on, key_layout)
    suiting = (name for name in (pair.suited, *pair.suiting) if name and not on.column(name).stands_in_for)
    suited = next((name for name in suiting if can_hold(on, needs.version, on.column(name), key_layout.name)), "")
    names = [pair.default, suited, *(one.column for one in on.server_keys if one.replica == key_layout.name)]
    if needs.type == "text" and key_layout.kind == "uuid":  # in place of all these: GUIDs as text
        names = [column.name for column in on.columns if column.form == "text" and "uuid" in column.kinds][:1]
    if needs.existing and needs.existing.layout == key_layout.name:
        names.append(needs.existing.column or pair.default)
    columns = [on.column(name) for name in dict.fromkeys(filter(None, names))]  # `suited` may be empty
    available = [column for column in columns if can_hold(on, needs.version, column, key_layout.name)]
    if available or not columns:
        return available
    of_bytes = [
        one for one in on.columns if one.form == "bytes" and not one.stands_in_for and key_layout.kind in one.kinds
    ]
    return [column for column in of_bytes if can_hold(on, needs.version, column, key_layout.name)][:1]


def _misses(needs: Needs, key_layout: Layout, column: Column, facts: Properties) -> Mapping[str, str]:
    """The needs that the keys do not meet: by the option that asks, the reason."""
    too_old = f"{needs.on.title} {needs.version} does not make them"
    secrets = f"a key tells {' and '.join(facts.tells)}"
    reasons = {
        f"--type {needs.type}": f"it is {_NOUN[_type(column)]}",
        "--made-by client": "only a server can make it, because it counts rows",
        "--made-by server": too_old if _newest_version_makes(needs, key_layout) else "no version makes these keys",
        "--sortable": f"it does not sort by time in a column of type {column.name}",
        "--unguessable": f"{facts.random_bits:.0f} of its bits are drawn for each key, too few against guessing",
        "--hides-time": secrets,
        "--hides-machine": secrets,
        "--merge": "two sites make the same keys"
        if facts.uniqueness == "plan"  # the plan of a run numbers the processes
        else "somebody has to give each worker of all sites its own number",
    }
    # by option, whether the keys meet it
    offers = {**facts.offers, f"--type {needs.type}": _type(column) == needs.type}
    return {option: why for option, why in reasons.items() if option in needs.conditions and not offers[option]}


def _table_has(needs: Needs, key_layout: Layout, column: Column) -> bool:
    """Whether the table has such keys in that column; True for any column if the user named none."""
    today = needs.existing
    return today is not None and today.layout == key_layout.name and today.column in ("", column.name)


_NOUN: Final = {"uuid": "a UUID", "text": "text", "integer": "an integer", "bytes": "a number of other bytes than 16"}


def _type(column: Column) -> str:
    """The kind of value in the column, in the words of `--type`; `bytes` for what that option does not know."""
    if column.form == "int":
        return "integer"
    if column.form == "text":
        return "text"
    return "uuid" if "uuid" in column.kinds else "bytes"


def _newest_version_makes(needs: Needs, key_layout: Layout) -> bool:
    """Whether the newest known version of the server makes these keys itself."""
    newest = max(needs.on.versions.values(), default=0)
    keys = needs.on.server_keys
    return any(server_made(keys, key_layout.name, needs.on.column(one.column), newest) for one in keys)
