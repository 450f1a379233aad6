"""The phases of an index's life in a scenario file: `[[phase]]`, each with one thing to do, one after another."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from keybench.scenarios.parts import FilePart

Whole = Annotated[float, Field(gt=0, le=1)]  # a share that may be the whole
Fill = Annotated[int | None, Field(ge=10, le=100)]
"""A fill factor in %; None for the engine's own."""
MOST_PHASES = 1000

What = Literal["build", "insert", "delete", "clean", "rebuild", "restart"]
_ACTIONS = ("build", "insert", "delete", "clean", "rebuild", "restart", "repeat")


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
        if [self.oldest, self.random, self.all_but_each].count(None) != 2:
            raise ValueError("give one of oldest, random and all_but_each")
        return self


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
    done: list[PhasePart] = []
    for phase in phases:
        if phase.repeat is None:
            done.append(phase)
            continue
        if phase.repeat.phases > len(done):
            raise ValueError(
                f"{phase.repeat.phases} phases are repeated where there are {len(done)} before: name fewer"
            )
        done += done[-phase.repeat.phases :] * phase.repeat.times
        if len(done) > MOST_PHASES:
            raise ValueError(f"there are more than {MOST_PHASES} phases: repeat fewer")
    return tuple(done)


def phases_problem(phases: tuple[PhasePart, ...]) -> str:
    """What is wrong with a scenario's phases taken together, as a message; empty if nothing is."""
    try:
        done = expanded(phases)
    except ValueError as error:
        return str(error)
    share = sum(phase.share for phase in done)
    if abs(share - 1) > 1e-6:
        return f"the phases insert {share:.6g} of the rows: their shares have to be 1 together"
    if not done[0].share:
        return "the first phase inserts or builds: nothing else can be done to an empty table"
    if any(phase.build for phase in done[1:]):
        return "only the first phase builds the index: use rebuild later"
    return ""


def rows_by_phase(phases: tuple[PhasePart, ...], rows: int) -> list[int]:
    """How many of a trial's `rows` rows have been inserted by the end of each phase of `expanded(phases)`."""
    after = []
    share = 0.0  # of the rows that have come
    for phase in expanded(phases):
        share += phase.share
        # To the nearest row, halves up: `round` would leave a phase of one row without any. The tiny numbers make up
        # for the rounding errors of sums of shares.
        after.append(rows if share > 1 - 1e-6 else int(rows * share + 0.5 + 1e-9))
    return after


def fills_as_text(fills: range) -> str:
    """The fill factors that an engine accepts, for messages: `10 to 100`, or the only one."""
    return f"{fills[0]} to {fills[-1]}" if len(fills) > 1 else f"{fills[0]}"
