"""Failures to reach a user's own server, whose password no message shows."""

import traceback
from urllib.parse import quote

import pytest

from keybench.databases.contract.engine import Engine
from keybench.errors import KeybenchError

PASSWORD = "s3cret}/hunter;2 %@x"
QUOTED = quote(PASSWORD, safe="")


def hidden(*shown: object, password: str = PASSWORD) -> bool:
    """Whether none of these shows the password."""
    text = "\n".join(str(part) for part in shown)
    return password not in text and quote(password, safe="") not in text


def failure(engine: Engine, url: str, password: str = PASSWORD) -> KeybenchError:
    """The error of a server at a URL that cannot be started."""
    with pytest.raises(KeybenchError) as caught:
        engine.provision(url, engine.settings("durable", "small")).start()
    assert hidden(*traceback.format_exception(caught.value), caught.value.__cause__, password=password)
    return caught.value
