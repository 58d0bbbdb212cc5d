"""Alembic's entry: runs revisions on the connection that the caller hands over, in its transaction."""

from alembic import context

from service.db.columns import Base
from service.db.models import Tenant
from service.db.people import ApiKeyRow

assert Tenant.metadata is ApiKeyRow.metadata is Base.metadata  # the models are loaded

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite changes a table by copying it
)
context.run_migrations()
