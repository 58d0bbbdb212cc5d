"""Alembic's entry: runs revisions on the connection that the caller hands over, in its transaction."""

from alembic import context

from service.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata(),
    render_as_batch=True,  # SQLite changes a table by copying it
)
context.run_migrations()
