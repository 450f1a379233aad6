"""`python -m results.claims`: the same as `keybench claims`."""

from keybench.results.claims.command import main

if __name__ == "__main__":
    main()
