"""`python -m keybench`: the same as the command `keybench`."""

from keybench.cli import main

if __name__ == "__main__":
    main()
