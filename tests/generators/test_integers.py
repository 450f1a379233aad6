"""Row numbers of 64 and of 32 bits."""

import numpy as np
import pytest

from keybench.errors import UsageError
from keybench.generators.core.clock import VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Stream, layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys
from tests.errors import raised


def stream(name: str, first: int, rows: int) -> Stream:
    """A stream of these rows, counted from 0."""
    process = Process("machine", 1, planned=np.arange(first + 1, first + rows + 1))
    return layout(name).stream(process, VirtualClock(np.zeros(1, np.int64)), AesEntropy.seeded("rows"))


def test_both_controls_are_the_row_numbers() -> None:
    for name in ("bigint-identity", "int-identity"):
        assert stream(name, 0, 5).take(5).data.tolist() == [1, 2, 3, 4, 5]


def test_the_32_bit_control_ends_with_the_last_number_of_32_bits() -> None:
    last = 2**31 - 1
    assert stream("int-identity", last - 2, 2).take(2).data.tolist() == [last - 1, last]
    said = raised(UsageError, stream("int-identity", last - 2, 3).take, 3)
    assert said == "row 2,147,483,648 has no number of 32 bits: take bigint-identity."
    with pytest.raises(UsageError, match=r"^2,147,483,648 is no int-identity key: the greatest is 2,147,483,647\.$"):
        layout("int-identity").decode(Keys(np.array([1, 2**31, 2**40]), "int"))
    assert stream("bigint-identity", last - 2, 3).take(3).data.tolist()[-1] == 2**31
