"""Load paths: the ways in which a trial's rows reach the server.

A load path says everything in which it differs from the others: what engines must offer for it, which tables it can
fill, how a session prepares its batches, the notices for users, and which results the trial cannot have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, runtime_checkable

from keybench.errors import unknown_name
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import KeyRole, is_key_and_payload

Transport = Literal["rows", "bulk"]
"""What an engine offers to a load path: `rows`, with an index insertion each in order of arrival, or `bulk`."""


class PreparesRows(Protocol):
    """The part of a session that prepares inserts."""

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows (the last may be shorter), ready to be sent; keys[i] has payload start + i."""
        ...


@runtime_checkable
class LoadsInBulk(Protocol):
    """A session of an engine that has `bulk` among `Engine.paths`."""

    def prepare_in_bulk(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Like `Session.prepare`, but `Session.send` loads each of these batches in bulk: all of its rows or none."""
        ...


@dataclass(frozen=True, kw_only=True)
class LoadPath:
    """One load path. Texts that do not apply to it are empty."""

    name: str
    """Its name in scenarios."""
    description: str
    transport: Transport
    """What the engine must offer."""
    in_order: bool
    """Whether rows enter the index one by one, in the order in which a writer sends them. If not, there is no order of
    arrival, no position of a key and no prediction, and page counts say nothing about published claims."""

    announcement: str = ""
    """Printed before the first trial."""
    warning: str = ""
    """Stored with the run, for readers of its results."""
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Recorded among the server's settings."""
    label: str = ""
    """Added to the title of a group of results."""

    no_prediction: str = ""
    no_position: str = ""
    no_claim: str = ""
    """The reasons why a trial has no prediction, position or claim, if rows are not `in_order`."""

    refuses_model: str = ""
    """Why a page model cannot replace the server."""
    refuses_server_keys: str = ""
    """Why the server cannot make the keys."""

    def refuses_table(self, key: KeyRole) -> str:
        """Why a table with that role of the key cannot be filled by this path; empty if it can."""
        if self.transport == "rows" or is_key_and_payload(key):
            return ""
        return f'the {self.name} path loads a key and its payload alone: leave out key = "{key}"'

    def batches(
        self, session: PreparesRows, keys: Keys, payload: Payload, start: int, rows_per_tx: int
    ) -> Sequence[object]:
        """Batches for `Session.send`; to make them is not timed. Raises TypeError if the engine declares the bulk path
        and its sessions do not have it."""
        if self.transport == "rows":
            return session.prepare(keys, payload, start, rows_per_tx)
        if not isinstance(session, LoadsInBulk):
            kind = f"{type(session).__module__}.{type(session).__qualname__}"
            raise TypeError(f"the engine declares the load path bulk and its sessions ({kind}) do not load in bulk")
        return session.prepare_in_bulk(keys, payload, start, rows_per_tx)


ROWS: Final = LoadPath(
    name="rows", description="one index insertion a row, in order of arrival", transport="rows", in_order=True
)
# SQL Server's bulk copy sorts the rows, so the page splits that rows in order of arrival cause do not happen.
BULK: Final = LoadPath(
    name="bulk",
    description="the server sorts",
    transport="bulk",
    in_order=False,
    announcement="rows are loaded in bulk, which sorts: splits will not be those of rows in order of arrival",
    warning="Rows were loaded in bulk, which sorts: splits are not those of rows in order of arrival.",
    environment={"load_path": "bulk, sorted by the server"},
    label="; loaded in bulk, which sorts: splits are not those of rows in order of arrival",
    no_prediction=(
        "No prediction: rows were loaded in bulk, which the server sorts, and a page model inserts row by row."
    ),
    no_position=(
        "Rows were loaded in bulk, which the server sorts: their order of arrival does not say where a key goes."
    ),
    no_claim="Rows were loaded in bulk, which sorts them.",
    refuses_model="a page model inserts row by row: choose another --server.",
    refuses_server_keys="it loads in bulk, which sends every column",
)
LOAD_PATHS: Final[Mapping[str, LoadPath]] = {path.name: path for path in (ROWS, BULK)}


def load_path(name: str) -> LoadPath:
    """The load path of that name. Raises UsageError with close matches if there is none."""
    try:
        return LOAD_PATHS[name]
    except KeyError:
        raise unknown_name("load path", name, LOAD_PATHS) from None
