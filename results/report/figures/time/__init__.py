"""Figures of times."""
