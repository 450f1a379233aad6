"""Plans a run: turns a request into trials, and a scenario into the rows of each writer."""
