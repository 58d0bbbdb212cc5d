"""Intervals, tests and votes over sets of values."""
