"""Runners: a scenario becomes trials, trials become results."""
