from dataclasses import dataclass

import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.pagemodels.contract import parameters, predict
from tests.errors import raised


@dataclass(frozen=True)
class Parameters:
    share: float = 0.5
    point: str = "midpoint"
    tag: int = 0


def test_parameters_are_given_by_name() -> None:
    assert parameters(Parameters, {}) == Parameters()
    assert parameters(Parameters, {"share": 1, "tag": 14}) == Parameters(1, "midpoint", 14)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"shares": 0.4},
         "unknown parameter of the page model 'shares'. Did you mean share? Known: point, share, tag."),
        ({"share": "half"}, "the page model's share is 'half': give a value like 0.5."),
        ({"tag": 1.5}, "the page model's tag is 1.5: give a value like 0."),
        ({"point": 7}, "the page model's point is 7: give a value like 'midpoint'."),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(given_: dict[str, object], message: str) -> None:
    assert raised(UsageError, parameters, Parameters, given_) == message


class Recorder:
    """A model that keeps what it is given."""

    def insert(self, ranks, checkpoints=()):
        return ranks.tolist(), checkpoints


def test_keys_that_the_column_does_not_take_are_refused() -> None:
    column = Column("n", "N", frozenset({"int"}), "rfc", "int", width=8)
    said = raised(UsageError, predict, Recorder(), column, Keys(np.zeros((1, 16), np.uint8), "uuid"))
    assert said == "the column n does not take all of these keys: choose another column."


def test_keys_of_another_width_than_the_column_are_refused() -> None:
    column = Column("b", "B", frozenset({"bytes"}), "rfc", width=0)
    keys = Keys(np.arange(24, dtype=np.uint8).reshape(2, 12), "bytes")
    assert predict(Recorder(), column.sized(12), keys) == ([0, 1], ())
    assert raised(UsageError, predict, Recorder(), column.sized(16), keys) == (
        "the column b is for keys of 16 bytes, and these have 12: give it their width with `sized` first."
    )
