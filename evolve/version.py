"""The versions that everything else reads here: of the package, and of the JSON that it writes."""

__version__ = "0.1.0"
SCHEMA = 1
