"""Whether a run is there: one that is being deleted is marked first, and is there for no reader from then on."""

from sqlalchemy import ColumnElement

from service.db.models import RunRow

DELETING = "deleting"
there: ColumnElement[bool] = RunRow.state != DELETING
