"""Bytes as the drivers give and take them."""

from sqlalchemy import LargeBinary
from sqlalchemy.engine import Dialect


class Binary(LargeBinary):
    """A column of bytes. Both drivers take them as they are, and a wrapper around each costs more than the rest."""

    def bind_processor(self, dialect: Dialect) -> None:
        """Pass bytes on."""

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Pass bytes on."""
