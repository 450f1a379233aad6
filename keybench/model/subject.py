"""What a reading is about: the table's key, a page model's index, one writer, the machine …"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class SubjectKind(StrEnum):
    """The kinds of subjects. Results databases and exports contain these names."""

    KEY = "key"
    """The table's key and its index: most readings are about it."""
    MODEL = "model"
    """The same index as predicted by a page model. Older results have models of other rules, each with a name."""
    WRITER = "writer"
    """The inserts of one writer; the name is its id."""
    SHARD = "shard"
    """The key's index in one shard's table; the name is the shard's number, from 1."""
    CLUSTERED = "clustered"
    """In tables by date: the b-tree in order of creation. If an engine cannot cluster, the index on that time."""
    PARENT = "parent"
    """The key's index in the parent table, if the key is a foreign key."""
    PHASE = "phase"
    """The key's index after one phase of its life; the name is its number and what was done: `3 delete`."""
    MODEL_PHASE = "modelled-phase"
    """The same as predicted by a page model beside a server."""
    WAIT = "wait"
    """What writers wait for; the name is the server's own for it."""
    MACHINE = "machine"
    """The machine on which a trial runs."""


_NAMED = frozenset(SubjectKind) - {
    SubjectKind.KEY,
    SubjectKind.MODEL,
    SubjectKind.CLUSTERED,
    SubjectKind.PARENT,
    SubjectKind.MACHINE,
}
_UNNAMED = frozenset(SubjectKind) - _NAMED - {SubjectKind.MODEL}


@dataclass(frozen=True, order=True)
class Subject:
    """A kind and, if there are several of that kind, a name. `str` gives the text that people and exports see.

    Raises ValueError if a kind that needs a name gets none, or a kind without names gets one.
    """

    kind: SubjectKind
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind in (_UNNAMED if self.name else _NAMED):
            raise ValueError(f"a subject of the kind {self.kind} {'has no' if self.name else 'needs a'} name")

    @staticmethod
    def model(rule: str = "") -> Subject:
        """The page model of a server's index; with a name, as older results have it, that of another rule."""
        return Subject(SubjectKind.MODEL, rule)

    @staticmethod
    def writer(writer_id: str) -> Subject:
        """The inserts of the writer with this id."""
        return Subject(SubjectKind.WRITER, writer_id)

    @staticmethod
    def shard(number: int) -> Subject:
        """One shard's table. Numbers start at 1."""
        return Subject(SubjectKind.SHARD, str(number))

    @staticmethod
    def wait(name: str) -> Subject:
        """The wait that the server calls so."""
        return Subject(SubjectKind.WAIT, name)

    def __str__(self) -> str:
        if self.kind == SubjectKind.MODEL and self.name:
            return f"{self.kind}: {self.name}"
        return f"{self.kind} {self.name}" if self.name else str(self.kind)

    @staticmethod
    def parse(text: str) -> Subject:
        """Reads back the text of `str`, for files that contain it. Raises ValueError if it names no subject."""
        if text.startswith(f"{MODEL}: "):
            return Subject.model(text.removeprefix(f"{MODEL}: "))
        kind, _, name = text.partition(" ")
        if kind not in set(SubjectKind):
            raise ValueError(f"{text!r} is not the subject of a reading")
        return Subject(SubjectKind(kind), name)


KEY: Final = Subject(SubjectKind.KEY)
MODEL: Final = Subject(SubjectKind.MODEL)
CLUSTERED: Final = Subject(SubjectKind.CLUSTERED)
PARENT: Final = Subject(SubjectKind.PARENT)
MACHINE: Final = Subject(SubjectKind.MACHINE)
