"""The documentation site: what `make docs` builds out of `docs/` and out of the code."""
