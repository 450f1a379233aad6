"""`python -m results.report`: the same as `keybench report`."""

from keybench.results.report.command import main

if __name__ == "__main__":
    main()
