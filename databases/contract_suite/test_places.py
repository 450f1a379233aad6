"""Every engine takes part in the suite if one of its servers is available here, and otherwise says why not."""

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract_suite.places import asked, missing, of, places
from keybench.databases.registry import engines


@pytest.mark.parametrize("on", engines().values(), ids=lambda on: on.name)
def test_an_engine_takes_part_or_says_why_not(on: Engine) -> None:
    reasons = [missing(place) for place in of(on)]
    if all(reasons):
        named = f"{on.title} runs in containers or at a URL, which KEYBENCH_CONTRACT must name"
        pytest.skip(" ".join(reasons[0].split()) if reasons else named)
    assert asked() or any(place.engine is on for place in places())
