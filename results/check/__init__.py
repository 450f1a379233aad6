"""The gate: whether a run's page counts and time ratios are those of a baseline that lies in the repository."""
