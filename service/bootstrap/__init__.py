"""The composition root: makes the parts and joins them; nothing else of the service knows two of its siblings."""
