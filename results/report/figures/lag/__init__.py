"""Figures of lag."""
