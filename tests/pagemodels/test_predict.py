import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.pagemodels.contract import predict


class Recorder:
    """A model that keeps what it is given."""

    def insert(self, ranks, checkpoints=()):
        return ranks.tolist(), checkpoints


def test_keys_that_the_column_does_not_take_are_refused() -> None:
    column = Column("n", "N", frozenset({"int"}), "rfc", "int", width=8)
    with pytest.raises(UsageError) as refused:
        predict(Recorder(), column, Keys(np.zeros((1, 16), np.uint8), "uuid"))
    assert str(refused.value) == "the column n does not take all of these keys: choose another column."


def test_keys_of_another_width_than_the_column_are_refused() -> None:
    column = Column("b", "B", frozenset({"bytes"}), "rfc", width=0)
    keys = Keys(np.arange(24, dtype=np.uint8).reshape(2, 12), "bytes")
    assert predict(Recorder(), column.sized(12), keys) == ([0, 1], ())
    with pytest.raises(UsageError) as refused:
        predict(Recorder(), column.sized(16), keys)
    assert str(refused.value) == (
        "the column b is for keys of 16 bytes, and these have 12: give it their width with `sized` first."
    )
