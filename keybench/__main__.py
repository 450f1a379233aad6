"""`python -m keybench`, and the installed command. Signals interrupt it from here on: what comes before is Python's own
start, some 30 ms in which a signal ends the process and nothing is there to clean up."""

import gc
import sys
from pathlib import Path
from typing import NoReturn

from keybench import interruption

_WITHOUT_LINKS = """\
keybench: this installation has no folders of keybench: its checkout has files in place of links.
With Windows' developer mode on, clone again with `git clone -c core.symlinks=true`, and install from there.
"""
"""git on Windows writes links as files, and pip leaves them out."""


def main() -> NoReturn:
    """Runs the command that the first argument names, and ends the process."""
    interruption.listen()
    try:
        if not Path(__file__).with_name("advice").is_dir():
            sys.stderr.write(_WITHOUT_LINKS)
            sys.exit(4)  # as in `cli`
        # Nearly all that a command imports stays to its end. Python would look through it again and again: with its own
        # threshold of 700 objects that is a tenth of a short command.
        gc.set_threshold(100_000, 20, 20)
        from keybench import cli  # takes a while

        cli.run()
    except (Exception, KeyboardInterrupt):
        if not interruption.received():
            raise
        interruption.ignore()
        sys.stderr.write("keybench: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
