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
    """The same index as predicted by a page model."""
    WRITER = "writer"
    """The inserts of one writer; the name is its id."""
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


_NAMED = frozenset({SubjectKind.WRITER, SubjectKind.PHASE, SubjectKind.MODEL_PHASE, SubjectKind.WAIT})


@dataclass(frozen=True, order=True)
class Subject:
    """A kind and, if there are several of that kind, a name. `str` gives the text that people and exports see. Raises
    ValueError if a kind that needs a name gets none, or a kind without names gets one."""

    kind: SubjectKind
    name: str = ""

    def __post_init__(self) -> None:
        if (self.kind in _NAMED) != bool(self.name):
            raise ValueError(f"a subject of the kind {self.kind} {'has no' if self.name else 'needs a'} name")

    @staticmethod
    def writer(writer_id: str) -> Subject:
        """The inserts of the writer with this id."""
        return Subject(SubjectKind.WRITER, writer_id)

    @staticmethod
    def wait(name: str) -> Subject:
        """The wait that the server calls so."""
        return Subject(SubjectKind.WAIT, name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else str(self.kind)

    @staticmethod
    def parse(text: str) -> Subject:
        """Reads back the text of `str`, for files that contain it. Raises ValueError if it names no subject."""
        kind, _, name = text.partition(" ")
        if kind not in set(SubjectKind):
            raise ValueError(f"{text!r} is not the subject of a reading")
        return Subject(SubjectKind(kind), name)


KEY: Final = Subject(SubjectKind.KEY)
MODEL: Final = Subject(SubjectKind.MODEL)
CLUSTERED: Final = Subject(SubjectKind.CLUSTERED)
PARENT: Final = Subject(SubjectKind.PARENT)
MACHINE: Final = Subject(SubjectKind.MACHINE)
