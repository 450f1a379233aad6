"""Figures of pages, splits, log and size."""
