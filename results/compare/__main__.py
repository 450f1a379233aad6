"""`python -m results.compare`: the same as `keybench compare`."""

from keybench import cli
from keybench.results.compare.command import app

if __name__ == "__main__":
    cli.run(app)
