"""`python -m results.report`: the same as `keybench report`."""

from keybench import cli
from keybench.results.report.command import app

if __name__ == "__main__":
    cli.run(app)
