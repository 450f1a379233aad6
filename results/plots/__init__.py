"""Plots that know nothing of a run: canvas, panels, rows, curves."""
