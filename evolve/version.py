"""The version of the package, which everything else reads here."""

__version__ = "0.1.0"
