"""`python -m keybench`, and the installed command. Signals interrupt it from here on: what comes before is Python's own
start, some 30 ms in which a signal ends the process and nothing is there to clean up."""

import sys
from typing import NoReturn

from keybench import interruption


def main() -> NoReturn:
    """Runs the command that the first argument names, and ends the process."""
    interruption.listen()
    try:
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
