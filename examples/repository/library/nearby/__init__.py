"""Points in the plane, found by their distance."""

from nearby.index import Index

__all__ = ["Index"]
