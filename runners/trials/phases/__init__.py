"""Trials whose index has a past."""
