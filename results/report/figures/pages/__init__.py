"""Figures of pages."""
