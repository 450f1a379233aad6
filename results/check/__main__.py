"""`python -m results.check`: the same as `keybench check`."""

from keybench import cli
from keybench.results.check.command import app

if __name__ == "__main__":
    cli.run(app)
