"""Evolutionary search over programs as a pure library: it asks for proposals and is told evaluations."""

__version__ = "0.1.0"
