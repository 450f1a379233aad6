"""Every load path declares all that it must."""

from __future__ import annotations

import pytest

from keybench.errors import UsageError
from keybench.model.load_path import LOAD_PATHS, LoadPath, load_path


@pytest.mark.parametrize("path", LOAD_PATHS.values(), ids=LOAD_PATHS)
def test_a_path_that_loses_the_order_of_arrival_gives_its_reasons(path: LoadPath) -> None:
    said = (path.warning, path.label, path.no_prediction, path.no_position, path.no_claim, path.refuses_model)
    assert all(said) if not path.in_order else not any(said)
    assert path.description


def test_an_unknown_path_lists_the_known_ones() -> None:
    assert load_path("rows").in_order
    with pytest.raises(UsageError, match=r"^unknown load path 'bulky'\. Did you mean bulk\? Known: bulk, rows\.$"):
        load_path("bulky")
