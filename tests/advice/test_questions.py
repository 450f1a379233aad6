"""docs/questions.md: questions of real people, and what the program answers."""

import re

import pytest

from keybench.errors import UsageError
from scripts.questions import PAGE, needs_of, paragraphs, questions, told

ASKED = questions()
COMMANDS = [command for one in ASKED for command in one.commands]
ANSWERED = paragraphs(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_twenty_questions_or_more_each_with_its_thread_and_answer() -> None:
    asked_in_public = [one.address for one in ASKED if one.address]
    assert len(set(asked_in_public)) == len(asked_in_public) >= 20
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for number, one in enumerate(ASKED, 1):
        assert f"## {number}. {one.name} {one.ask}" in text, "run python -m scripts.questions"
        assert not one.address or f"<{one.address}>" in text
    assert set(ANSWERED) == set(COMMANDS), "run python -m scripts.questions"


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_it_asks(command: str) -> None:
    if command in REFUSED:  # a refusal is an answer, too
        with pytest.raises(UsageError) as error:
            needs_of(command)
        assert ANSWERED[command] == [f"keybench: {error.value}"]
    else:
        assert needs_of(command).rows >= 1000


REFUSED = [command for command in COMMANDS if ANSWERED.get(command, [""])[0].startswith("keybench: ")]


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in REFUSED])
def test_an_answer_says_what_to_do_then_why_and_what_it_rests_on(command: str) -> None:
    first, *_, last = ANSWERED[command]
    small = r"(At this size it does not matter\. )?"
    do = r"(Use|Leave it|Give new rows|Store the same keys|Keep today's key)\b.+?[.:] "
    assert re.match(rf"{small}{do}(At|With|The new column's index|The (index|table) ends)\b", first), first
    assert last.startswith("Rests on: "), last


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_the_program_answers_as_the_page_says(command: str) -> None:
    assert told(command) == ANSWERED[command], "run python -m scripts.questions"
