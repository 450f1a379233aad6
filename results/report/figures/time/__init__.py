"""Figures of time."""
