"""`python -m results.check`: the same as `keybench check`."""

from keybench.results.check.command import main

if __name__ == "__main__":
    main()
