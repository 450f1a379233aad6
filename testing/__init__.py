"""For people who extend keybench: the suite that every database engine must pass."""
