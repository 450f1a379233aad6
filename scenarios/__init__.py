"""Scenarios: the work of a trial, as data."""
