"""Routes of the API, one noun a module."""
