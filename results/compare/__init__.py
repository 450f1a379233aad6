"""Two runs, or two groups of one run, beside each other: `python -m results.compare`, also `keybench compare`."""
