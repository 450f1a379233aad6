"""Messages about a full disk get the next step; other messages do not."""

import pytest

from keybench.databases.hosting.url_server import NEXT_STEP, with_next_step


@pytest.mark.parametrize(
    "said",
    [
        'could not extend file "base/1/2": No space left on device. Check free disk space.',
        "The table 'keybench_rows' is full",
        "Disk full (/tmp/#sql); waiting for someone to free some space...",
    ],
)
def test_a_full_disk_has_a_next_step(said: str) -> None:
    assert with_next_step(said) == f"{said.rstrip('.')}. {NEXT_STEP}"
    ended = f"{with_next_step(said)} Its container ended with exit status 1."
    assert with_next_step(ended) == ended, "once"


@pytest.mark.parametrize("said", ["duplicate key", "the word 'is full' is in no table", ""])
def test_other_messages_stay(said: str) -> None:
    assert with_next_step(said) == said
