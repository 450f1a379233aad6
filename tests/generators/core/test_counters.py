"""Counters in bulk, against the loops over keys that they replace."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import UNIX_EPOCH
from keybench.generators.core.counters import NEVER, count_runs, require_room
from tests.errors import raised

QUANTA = st.lists(st.integers(0, 40), max_size=60)


@given(quanta=QUANTA, seeds=st.lists(st.integers(0, 3), min_size=60, max_size=60), cut=st.integers(0, 60))
@example(quanta=[0] * 20 + [1, 2, 3, 4, 9, 9], seeds=[3] * 60, cut=0)
@example(quanta=[1, 1, 2, 3, 4, 5], seeds=[3, 3, 3, 3, 3, 3] * 10, cut=3)
def test_count_runs_with_overflows_into_later_quanta(quanta, seeds, cut) -> None:
    """Two bits of counter: every fifth key of a quantum moves the time ahead, into the next quanta."""
    expected, value, used = [], NEVER << 2, 0
    for quantum in quanta:
        if quantum > value >> 2:
            value = quantum << 2 | seeds[used]
            used += 1
        else:
            value += 1
        expected.append(value)
    found, last, drawn = [], NEVER << 2, 0
    for part in (quanta[:cut], quanta[cut:]):
        left = np.array(seeds[drawn:], np.int64)
        values, starts = count_runs(np.array(part, np.int64), last, 2, lambda starts, left=left: left[: len(starts)])
        drawn += len(starts)
        found += values.tolist()
        last = found[-1] if found else last
    assert found == expected
    assert drawn == used


def test_no_room_is_an_error_that_names_the_end() -> None:
    assert require_room("x", np.array([3, 4]), 4, UNIX_EPOCH).tolist() == [3, 4]
    assert require_room("x", np.empty(0, np.int64), 4, UNIX_EPOCH).tolist() == []
    assert raised(UsageError, require_room, "x", np.array([3, 4, 5]), 4, UNIX_EPOCH) == (
        "x keys end with 1970-01-01T00:00:00.0000000Z, and those made faster than the clock ticks have passed it: "
        "set the clock inside that range."
    )
