"""What the errors say that tests provoke."""

from collections.abc import Callable

import pytest


def raised(kind: type[Exception], call: Callable[..., object], *given: object, **named: object) -> str:
    """The message of the error of that kind with which a call ends."""
    with pytest.raises(kind) as caught:
        call(*given, **named)
    return str(caught.value)
