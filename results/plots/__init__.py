"""Plots from plain values to SVG; they know nothing of runs and layouts."""
