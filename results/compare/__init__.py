"""Two runs, or two groups of one run, beside each other: `keybench compare`."""
