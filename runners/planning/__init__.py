"""From a request to trials, and from a scenario to the rows of each writer."""
