"""The refusal of a view."""


class ViewError(ValueError):
    """A view that cannot be shown; the text is the sentence that stands in its place."""
