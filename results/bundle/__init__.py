"""One file of a run that a stranger can send in: values, environment and checksums, and nothing private."""
