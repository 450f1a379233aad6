from dataclasses import dataclass

import pytest

from keybench.errors import UsageError
from keybench.pagemodels.contract import parameters


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
        (
            {"shares": 0.4},
            "unknown parameter of the page model 'shares'. Did you mean share? Known: point, share, tag.",
        ),
        ({"share": "half"}, "the page model's share is 'half': give a value like 0.5."),
        ({"tag": 1.5}, "the page model's tag is 1.5: give a value like 0."),
        ({"point": 7}, "the page model's point is 7: give a value like 'midpoint'."),
    ],
)
def test_wrong_parameters_are_refused(given_: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parameters(Parameters, given_)
    assert str(refused.value) == message
