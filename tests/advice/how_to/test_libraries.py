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
    assert call.unguessable


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("pascal.toml", "title =", "pascal.toml is no TOML: Invalid value (at end of document)."),
        ("Pascal.toml", CALL, "Pascal.toml: name the file after the language, in small letters."),
        ("pascal.toml", CALL.replace("title =", "name ="), "pascal.toml: unknown key 'name'. Known: title, call."),
        ("pascal.toml", 'title = "Pascal"\ncall = []', "pascal.toml: call is empty: give it at least one [[call]]."),
        ("pascal.toml", 'title = "Pascal"\ncall = [1]', "pascal.toml, call 1: this is no table."),
        ("pascal.toml", CALL.replace('call = "f()"', ""), "pascal.toml, call 1: call is missing."),
        (
            "pascal.toml",
            CALL.replace("62", '"62"'),
            "pascal.toml, call 1: random_bits is '62': give a whole number.",
        ),
        (
            "pascal.toml",
            CALL.replace('"each key"', '"yes"'),
            "pascal.toml, call 1: ascends is 'yes': choose one of each key, each millisecond, no.",
        ),
        (
            "pascal.toml",
            CALL.replace('["uuid-v7"]', '["uuid7"]'),
            "pascal.toml, call 1: layouts has 'uuid7', which is no layout: `keybench list layouts` has all.",
        ),
    ],
)
def test_a_wrong_file_is_named_with_its_key(file: str, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        read(file, text)


def test_an_unknown_key_of_a_call_is_named() -> None:
    with pytest.raises(UsageError, match=r"^pascal\.toml, call 1: unknown key 'calls' of the call\. Known: layouts, "):
        read("pascal.toml", CALL + "calls = 1")


@pytest.mark.parametrize("layout", ["uuid-v4", "uuid-v7"])
@pytest.mark.parametrize("language", languages())
def test_each_language_has_a_call_for_random_and_for_timed_guids(language: str, layout: str) -> None:
    assert calls_for(layout, language)


def test_names_that_are_not_known_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^unknown language 'pythn'\. Did you mean python or php\? Known: csharp, go, "
    ):
        calls_for("uuid-v4", "pythn")
    with pytest.raises(UsageError, match=r"^unknown layout 'uuid-v9'\."):
        calls_for("uuid-v9")


def test_random_keys_that_follow_a_counter_are_not_called_unguessable() -> None:
    bits = {call.call: call.unguessable for call in calls_for("uuid-v7")}
    assert bits["uuid.uuid7()"] is False
    assert bits["Guid.CreateVersion7()"] is True
