"""`python -m runners.run`: the same as `keybench run`."""

from keybench.runners.cli import main

if __name__ == "__main__":
    main()
