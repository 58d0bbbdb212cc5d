"""The schema's history: Alembic revisions, shipped with the package."""
