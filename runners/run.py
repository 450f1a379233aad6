"""`python -m runners.run`: the same as `keybench run`. Worker processes import this again, so it does nothing else."""

if __name__ == "__main__":
    from keybench import cli
    from keybench.runners.command import app

    cli.run(app)
