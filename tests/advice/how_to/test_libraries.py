"""The data of library calls: complete, and errors that name the file and the key."""

import re

import pytest

from keybench.advice.how_to.libraries import calls_for, languages, read
from keybench.errors import UsageError

CALL = """
title = "Pascal"
[[call]]
layouts = ["uuid-v7"]
package = "p"
version = "1"
since = "1"
call = "f()"
ascends = "each key"
random_bits = 62
notes = "n"
source = "s"
"""


def test_a_file_is_a_language() -> None:
    (call,) = read("pascal.toml", CALL)
    assert (call.language, call.title, call.layouts, call.checked) == (
        "pascal",
        "Pascal",
        ("uuid-v7",),
        "documentation",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title =", "pascal.toml is no TOML with a title and a list of calls: Invalid value"),
        (CALL.replace("title =", "name ="), "pascal.toml is no TOML with a title and a list of calls: 'title'."),
        (CALL.replace('call = "f()"', ""), "pascal.toml: call: Field required."),
        (CALL.replace("62", '"many"'), "pascal.toml: random_bits: Input should be a valid integer"),
        (CALL.replace('"each key"', '"yes"'), "pascal.toml: ascends: Input should be 'each key', 'each millisecond'"),
        (CALL.replace('["uuid-v7"]', '["uuid7"]'), "pascal.toml: layouts.0: Value error, 'uuid7' is no layout: "),
        (CALL + "calls = 1", "pascal.toml: calls: Extra inputs are not permitted."),
    ],
)
def test_a_wrong_file_is_named_with_its_field(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        read("pascal.toml", text)


@pytest.mark.parametrize("layout", ["uuid-v4", "uuid-v7"])
@pytest.mark.parametrize("language", languages())
def test_each_language_has_a_call_for_random_and_for_timed_guids(language: str, layout: str) -> None:
    assert any(call.language == language for call in calls_for(layout))
