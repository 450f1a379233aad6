"""`python -m results.compare`: the same as `keybench compare`."""

from keybench.results.compare.command import main

if __name__ == "__main__":
    main()
