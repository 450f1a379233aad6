"""The folder in which multiprocessing keeps the socket of the fork server.

By itself, multiprocessing makes a folder `pymp-…` in the temporary directory, which a killed runner leaves there. Here
it is a locked folder: the fork server removes it when the runner is gone, and if both were killed, the next command
does.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from multiprocessing.util import Finalize
from pathlib import Path

from keybench import locked_folder

_LONGEST = 100 - len("/keybench-run-00000000/listener-00000000")
"""Characters of a directory in which the socket's path stays within the system's limit."""
_AFTER_EVERYTHING_ELSE = -100
"""Priority of the folder's removal; multiprocessing removes its own at this priority."""


def prepare() -> None:
    """Makes the folder, unless this process has one. Called before the first worker process starts."""
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]  # where get_temp_dir looks
    base = Path(tempfile.gettempdir())
    if config.get("tempdir") or len(str(base)) > _LONGEST or (claimed := locked_folder.claim(base, "run")) is None:
        return
    folder, lock = claimed
    folder.mkdir(mode=0o700)
    config["tempdir"] = str(folder)
    Finalize(None, locked_folder.release, (folder, lock), exitpriority=_AFTER_EVERYTHING_ELSE)
