"""The phases of an index's life in a scenario file: `[[phase]]`, each with one thing to do, one after another."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from keybench.model.names import MOST_ROWS
from keybench.scenarios.parts import ALTERNATIVE, FilePart

Whole = Annotated[float, Field(gt=0, le=1)]  # a share that may be the whole
Fill = Annotated[int | None, Field(ge=10, le=100)]
"""A fill factor in %; None for the engine's own."""
MOST_PHASES = 1000

What = Literal["build", "insert", "delete", "update", "read", "clean", "rebuild", "restart"]
_ACTIONS = ("build", "insert", "delete", "update", "read", "clean", "rebuild", "restart", "repeat")

Number = Annotated[int, Field(gt=0, le=MOST_ROWS)]
Amount = Annotated[
    Annotated[Number, Tag(f"{ALTERNATIVE}number")] | Annotated[Whole, Tag(f"{ALTERNATIVE}share")],
    Discriminator(lambda value: ALTERNATIVE + ("number" if type(value) is int else "share")),
]
"""A number of rows (`5000`), or a share of those that there are (`0.3`; `1.0` is all of them)."""


def count_of(amount: float, rows: int) -> int:
    """How many rows an amount is where there are `rows`; a share is at least one."""
    return amount if isinstance(amount, int) else max(1, _share_of(amount, rows))


def _share_of(share: float, rows: int) -> int:
    """How many rows a share is, rounded down: a third of 30 rows is 10, though 30 · 0.333… is less."""
    return int(rows * share + 1e-6)


class BuildPart(FilePart):
    """Rows fill the empty table, and the key's index is built from them in order."""

    share: Whole
    """Of the trial's rows: the first ones."""
    fill: Fill = None


class DeletePart(FilePart):
    """Which of the rows that are there are deleted; exactly one of the fields is set."""

    oldest: Whole | None = None
    """The share that was inserted first."""
    random: Whole | None = None
    """A random share."""
    all_but_each: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    """n: all but each nth in order of arrival."""

    @model_validator(mode="after")
    def _exactly_one_field(self) -> Self:
        if [self.oldest, self.random, self.all_but_each].count(None) != 2:  # of three: one is set
            raise ValueError("give one of oldest, random and all_but_each")
        return self

    def count(self, rows: int) -> int:
        """How many of `rows` rows are deleted."""
        if self.all_but_each:
            return rows - -(-rows // self.all_but_each)  # one of each n stays, rounded up
        return _share_of(self.oldest or self.random or 0.0, rows)


class UpdatePart(FilePart):
    """Rows that are there get a new value, each by a statement of its own."""

    rows: Amount
    which: Literal["random", "newest", "oldest", "hot"] = "random"
    """`hot`: a random hundredth of the rows, each in turn and again, until so many updates are done."""
    column: Literal["payload", "status"] = "payload"
    length: Literal["same", "longer"] = "same"
    """Of the new payload; `longer`: half as long again as the row had when it came."""
    rows_per_tx: Number | None = None
    """Updates in a transaction; None: as many as rows that are inserted in one."""

    @model_validator(mode="after")
    def _length_of_a_payload(self) -> Self:
        if self.column == "status" and self.length != "same":
            raise ValueError("length is about the payload: leave it out")
        return self

    def characters(self, payload: int) -> int:
        """How many characters the new payload has of a row that came with `payload` characters."""
        return payload * 3 // 2 + 1 if self.length == "longer" else payload


class ReadPart(FilePart):
    """What is read; exactly one of the fields is set."""

    present: Amount | None = None
    """Look-ups by key of random rows that are there."""
    deleted: Amount | None = None
    """Look-ups by key of random rows that were deleted before."""
    scan: Amount | None = None
    """The first rows in the order of the key, in one query."""
    pop: Amount | None = None
    """The same, and then they are deleted, in one transaction: a queue."""

    @model_validator(mode="after")
    def _exactly_one_field(self) -> Self:
        if [self.present, self.deleted, self.scan, self.pop].count(None) != 3:  # of four: one is set
            raise ValueError("give one of present, deleted, scan and pop")
        return self

    @property
    def amount(self) -> float:
        """How many rows, or which share of them."""
        return next(value for value in (self.present, self.deleted, self.scan, self.pop) if value is not None)


class RebuildPart(FilePart):
    """The key's index is built again."""

    fill: Fill = None


class RepeatPart(FilePart):
    """The last `phases` phases are done again, `times` times."""

    phases: Annotated[int, Field(ge=1, le=100)]
    times: Annotated[int, Field(ge=1, le=MOST_PHASES)]


class PhasePart(FilePart):
    """One phase; exactly one of these is given."""

    build: BuildPart | None = None
    insert: Whole | None = None
    """Share of the trial's rows: the next ones. The shares of all phases are 1 together."""
    layout: str = ""
    """The layout of the keys that this phase inserts; empty for the measured one."""
    days_ahead: Annotated[float, Field(ge=-36_500, le=36_500)] = 0.0
    """By how many days the clock of the writers that make these keys is ahead of the scenario's time."""
    delete: DeletePart | None = None
    update: UpdatePart | None = None
    read: ReadPart | None = None
    clean: Literal[True] | None = None
    """What the server does about deleted rows later by itself: vacuum, purge."""
    rebuild: RebuildPart | None = None
    restart: Literal[True] | None = None
    """The server starts again: its cache is empty."""
    repeat: RepeatPart | None = None

    @model_validator(mode="after")
    def _exactly_one_action(self) -> Self:
        actions = [name for name in _ACTIONS if getattr(self, name) is not None]
        if len(actions) != 1:
            raise ValueError(
                f"a phase does one of {', '.join(_ACTIONS)}: this one has {' and '.join(actions) or 'none'}"
            )
        if self.own_keys and not self.share:
            raise ValueError("layout and days_ahead are about the keys that a phase inserts: it has no insert or build")
        return self

    @property
    def share(self) -> float:
        """Share of the trial's rows that come in this phase; 0 if none come."""
        return self.build.share if self.build else self.insert or 0.0

    @property
    def own_keys(self) -> bool:
        """Whether its keys are of another layout, or of another time, than those of the trial."""
        return bool(self.layout or self.days_ahead)

    @property
    def what(self) -> What:
        """The name of the action. ValueError for a repetition, which `expanded` replaces by the repeated phases."""
        for name in _ACTIONS[:-1]:  # without `repeat`
            if getattr(self, name) is not None:
                return name  # type: ignore[return-value]
        raise ValueError("a repetition is no phase of its own")


def expanded(phases: tuple[PhasePart, ...]) -> tuple[PhasePart, ...]:
    """All phases in order, with the repeated phases themselves in place of each repetition. ValueError where one
    repeats more phases than there are before it, or where there are more than MOST_PHASES."""
    result: list[PhasePart] = []
    for phase in phases:
        if phase.repeat is None:
            result.append(phase)
            continue
        if phase.repeat.phases > len(result):
            raise ValueError(
                f"{phase.repeat.phases} phases are repeated where there are {len(result)} before: name fewer"
            )
        result += result[-phase.repeat.phases :] * phase.repeat.times
        if len(result) > MOST_PHASES:
            raise ValueError(f"there are more than {MOST_PHASES} phases: repeat fewer")
    return tuple(result)


def phases_problem(phases: tuple[PhasePart, ...]) -> str:
    """What is wrong with a scenario's phases taken together, as a message; empty if nothing is."""
    try:
        all_phases = expanded(phases)
    except ValueError as error:
        return str(error)
    share = sum(phase.share for phase in all_phases)
    if abs(share - 1) > 1e-6:
        return f"the phases insert {share:.6g} of the rows: their shares have to be 1 together"
    if not all_phases[0].share:
        return "the first phase inserts or builds: nothing else can be done to an empty table"
    if any(phase.build for phase in all_phases[1:]):
        return "only the first phase builds the index: use rebuild later"
    return ""


def rows_by_phase(phases: tuple[PhasePart, ...], rows: int) -> list[int]:
    """How many of a trial's `rows` rows have been inserted by the end of each phase of `expanded(phases)`."""
    inserted = []
    share = 0.0  # of the rows, by the end of the phase
    for phase in expanded(phases):
        share += phase.share
        # To the nearest row, halves up: `round` rounds half a row to an even number, perhaps none. The tiny numbers
        # make up for the rounding errors of sums of shares.
        inserted.append(rows if share > 1 - 1e-6 else int(rows * share + 0.5 + 1e-9))
    return inserted


def rows_problem(phases: tuple[PhasePart, ...], rows: int) -> str:
    """Which phase of a trial with `rows` rows wants more rows than there are, as a message; empty if none does."""
    present = deleted = inserted = 0  # rows in the table, and all that were deleted and inserted so far
    ends = rows_by_phase(phases, rows)
    for number, (phase, end) in enumerate(zip(expanded(phases), ends, strict=True), start=1):
        present, inserted = present + end - inserted, end
        available, needed, kind = present, 0, "rows"
        if phase.update:
            # The hot rows are updated again and again: one is enough.
            needed = 1 if phase.update.which == "hot" else count_of(phase.update.rows, available)
        elif phase.read:
            if phase.read.deleted:
                available, kind = deleted, "deleted rows"
            needed = count_of(phase.read.amount, available)
        if needed > available:
            return f"phase {number} {phase.what}s {needed:,} {kind} where there are {available:,}: name fewer"
        now_deleted = needed if phase.read and phase.read.pop else 0
        if phase.delete:
            now_deleted = phase.delete.count(present)
        present, deleted = present - now_deleted, deleted + now_deleted
    return ""


def fills_as_text(fills: range) -> str:
    """The fill factors that an engine accepts, for messages: `10 to 100`, or the only one."""
    return f"{fills[0]} to {fills[-1]}" if len(fills) > 1 else f"{fills[0]}"
