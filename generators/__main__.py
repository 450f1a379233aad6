"""`python -m generators`: the same as `keybench generators`."""

from keybench.generators.commands.app import main

if __name__ == "__main__":
    main()
