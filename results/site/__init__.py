"""A static site of many runs: one page to filter, a page for each run, and its values to download."""
