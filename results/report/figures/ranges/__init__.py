"""Figures of the ranges of a cluster that take a load."""
