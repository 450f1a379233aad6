"""Private servers and folders that die with the runner. See `keeper`."""
