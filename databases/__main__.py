"""`python -m databases`: the same as `keybench databases`."""

from keybench.databases.cli import main

if __name__ == "__main__":
    main()
