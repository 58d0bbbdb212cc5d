"""Processes that serve without end: their name, their watch, their parts, their figures."""
