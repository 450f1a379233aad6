"""The gate: checks whether a run repeats the page counts and time ratios of a baseline kept in the repository."""
