"""`python -m databases`: the same as `keybench databases`."""

from keybench.databases.commands import main

if __name__ == "__main__":
    main()
