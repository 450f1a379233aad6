"""`python -m results.claims`: the same as `keybench compare --claims`."""

import sys

from keybench import cli

if __name__ == "__main__":
    sys.argv[1:1] = ["compare", "--claims"]
    cli.run()
