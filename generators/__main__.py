"""`python -m generators`: list, make and decode, as `keybench list` does."""

from keybench.generators.commands.app import main

if __name__ == "__main__":
    main()
