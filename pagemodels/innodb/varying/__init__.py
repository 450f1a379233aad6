"""Leaves whose records are of different sizes."""
